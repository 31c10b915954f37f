import { useEffect, useRef, useState } from "hono/jsx/dom";

/** How long a text that is read out is left alone, in milliseconds: the next one would cut it short. */
const PAUSE_MS = 1000;

/**
 * What screen readers say as it changes, of what others see: the newest once, and not too often.
 *
 * @param props.of what it is said of: the same text of another one is said again
 */
export function Announced({ text, of = "" }: { text: string; of?: string }) {
  const [said, setSaid] = useState({ text: "", of: "" });
  const at = useRef(-Infinity);
  useEffect(() => {
    if (text === said.text && of === said.of) return;
    const say = (): void => {
      at.current = performance.now();
      setSaid({ text, of });
    };
    const since = performance.now() - (at.current ?? -Infinity);
    const timer = setTimeout(say, Math.max(0, PAUSE_MS - since));
    return () => clearTimeout(timer);
  }, [text, of, said]);
  return (
    <p class="hidden-text" role="status">
      <span key={said.of}>{said.text}</span>
    </p>
  );
}
