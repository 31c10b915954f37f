import { useLayoutEffect, useRef } from "hono/jsx/dom";
import type { LogLine } from "./resources.ts";
import { Clock } from "./time.tsx";

/** The log lines of an execution, as they come: it follows its end unless somebody reads above. */
export function LogView({ lines }: { lines: readonly LogLine[] }) {
  const list = useRef<HTMLElement | null>(null);
  const isAtEnd = useRef(false);
  const scrolled = ({ currentTarget }: Event): void => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget as HTMLElement;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
  };
  useLayoutEffect(() => {
    if (isAtEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [lines]);
  if (lines.length === 0) return <p class="soft">It has logged nothing.</p>;
  return (
    <div class="log" tabindex={0} role="log" aria-label="Log" ref={list} onScroll={scrolled}>
      {lines.map(({ at, level, text }) => (
        <p>
          <span class="soft">
            <Clock of={at} />
          </span>
          <span class={level}>{level}</span>
          <span class="text">{text}</span>
        </p>
      ))}
    </div>
  );
}
