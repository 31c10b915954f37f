import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { Button } from "./button.tsx";
import { number, plural } from "./format.ts";
import type { LogLine } from "./resources.ts";
import { Clock } from "./time.tsx";
import { Said } from "./said.tsx";

type Level = LogLine["level"];

const LEVELS: readonly Level[] = ["error", "warn", "info", "debug"];

/**
 * The log of an execution: its lines as they come, by level, and as a file.
 *
 * @param props.isRunning the last lines of a long log come at its end alone
 */
export function LogView(props: { lines: readonly LogLine[]; name: string; isRunning: boolean }) {
  const { lines, name, isRunning } = props;
  const [hidden, setHidden] = useState<readonly Level[]>([]);
  const turn = (level: Level): void =>
    setHidden((now) =>
      now.includes(level) ? now.filter((other) => other !== level) : [...now, level],
    );
  return (
    <>
      <div class="log-tools">
        <h2>Log</h2>
        <LevelFilters lines={lines} hidden={hidden} turn={turn} />
        {lines.length === 0 ? null : (
          <Button style="quiet small" act={() => download(`${name}.log`, toText(lines))}>
            Download
          </Button>
        )}
      </div>
      {lines.length === 0 ? (
        <p class="soft">It has logged nothing.</p>
      ) : (
        <>
          <Lines lines={lines.filter(({ level }) => !hidden.includes(level))} />
          {isRunning ? (
            <p class="soft">
              Of a very long log, the last lines come once the execution has ended.
            </p>
          ) : null}
        </>
      )}
    </>
  );
}

/** One for each level that has lines, with their number. */
function LevelFilters(props: {
  lines: readonly LogLine[];
  hidden: readonly Level[];
  turn: (level: Level) => void;
}) {
  const { lines, hidden, turn } = props;
  const counts = LEVELS.map(
    (level) => [level, lines.filter((line) => line.level === level).length] as const,
  );
  return (
    <div class="chips" role="group" aria-label="Levels that are shown">
      {counts.map(([level, count]) =>
        count === 0 ? null : (
          <Button
            key={level}
            style="chip"
            isPressed={!hidden.includes(level)}
            act={() => turn(level)}
          >
            {level} {number(count)}
          </Button>
        ),
      )}
    </div>
  );
}

/** Lines that are drawn at once; those before them follow on request, so that a long log opens fast. */
const LINES_AT_ONCE = 2000;

/** The end of the list, which is followed unless somebody reads above. */
function Lines({ lines }: { lines: readonly LogLine[] }) {
  const [most, setMost] = useState(LINES_AT_ONCE);
  const from = Math.max(0, lines.length - most);
  const list = useRef<HTMLElement | null>(null);
  const isAtEnd = useRef(false);
  const scrolled = ({ currentTarget }: Event): void => {
    const { scrollTop, clientHeight, scrollHeight } = currentTarget as HTMLElement;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 8;
  };
  useLayoutEffect(() => {
    if (isAtEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [lines]);
  return (
    <div class="log" tabindex={0} role="log" aria-label="Log" ref={list} onScroll={scrolled}>
      {from === 0 ? null : (
        <Button style="quiet json-more" act={() => setMost(most + LINES_AT_ONCE)}>
          {plural(from, "earlier line")}
        </Button>
      )}
      {lines.slice(from).map(({ at, level, text }, place) => (
        <p key={from + place}>
          <span class="soft">
            <Clock of={at} />
          </span>
          <span class={level}>{level}</span>
          <span class="text">
            <Said text={text} />
          </span>
        </p>
      ))}
    </div>
  );
}

/** All levels; times in UTC, as the API has them. */
function toText(lines: readonly LogLine[]): string {
  return lines.map(({ at, level, text }) => `${at} ${level} ${text}\n`).join("");
}

function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
