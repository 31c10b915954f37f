import { useEffect, useRef, useState } from "hono/jsx/dom";

/** How long a text that is read out is left alone, in milliseconds: the next one would cut it short. */
const PAUSE_MS = 1000;

/** What screen readers say as it changes, of what others see: the newest once, and not too often. */
export function Announced({ text }: { text: string }) {
  const [said, setSaid] = useState("");
  const at = useRef(-Infinity);
  useEffect(() => {
    if (text === said) return;
    const say = (): void => {
      at.current = performance.now();
      setSaid(text);
    };
    const since = performance.now() - (at.current ?? -Infinity);
    const timer = setTimeout(say, Math.max(0, PAUSE_MS - since));
    return () => clearTimeout(timer);
  }, [text, said]);
  return (
    <p class="hidden-text" role="status">
      {said}
    </p>
  );
}
