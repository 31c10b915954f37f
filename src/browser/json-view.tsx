import { useEffect, useLayoutEffect, useRef, useState, type Child } from "hono/jsx/dom";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";
import { plural } from "./format.ts";
import { ExactNumber } from "../shared/json-exact.ts";
import { searchJson, type JsonPath } from "./json-search.ts";
import { Said } from "./said.tsx";

/** Members that are shown at once; the rest follows on request, so that a large value opens fast. */
const MEMBERS_AT_ONCE = 100;

/** Characters of a text, in the same way: some megabytes in one line would stop the page. */
const CHARACTERS_AT_ONCE = 200_000;

/** Levels that are open at first, as long as they are short. */
const OPEN_LEVELS = 2;
const OPEN_MEMBERS = 20;

/** A JSON value that can be folded, searched and copied; its texts are text. */
export function JsonView(props: { value: unknown; label: string; title?: string }) {
  const { value, label, title } = props;
  const [found, setFound] = useState<Found>(NOTHING);
  return (
    <div class="json-frame">
      <div class="json-tools">
        {title === undefined ? null : <h2>{title}</h2>}
        {isBranch(value) ? (
          <SearchTools value={value} label={label} found={found} setFound={setFound} />
        ) : null}
        <CopyButton text={() => JSON.stringify(value, null, 2) ?? "null"} />
      </div>
      <div class="json" tabindex={0} role="group" aria-label={label}>
        <JsonNode value={value} name={null} level={0} goal={found.paths[found.at] ?? null} />
      </div>
    </div>
  );
}

interface Found {
  readonly text: string;
  readonly paths: readonly JsonPath[];
  /** The one that is marked. */
  readonly at: number;
}

const NOTHING: Found = { text: "", paths: [], at: 0 };

function SearchTools(props: {
  value: object;
  label: string;
  found: Found;
  setFound: (found: Found) => void;
}) {
  const { value, label, found, setFound } = props;
  const { text, paths, at } = found;
  const move = (by: number): void =>
    setFound({ ...found, at: (at + by + paths.length) % Math.max(paths.length, 1) });
  const search = ({ target }: Event): void => {
    const wanted = (target as HTMLInputElement).value;
    setFound({ text: wanted, paths: searchJson(value, wanted), at: 0 });
  };
  const turn = ({ key, shiftKey }: KeyboardEvent): void => {
    if (key === "Enter") move(shiftKey ? -1 : 1);
  };
  const count = paths.length === 0 ? "Not found" : `${at + 1} of ${paths.length}`;
  return (
    <>
      <input
        type="search"
        placeholder="Search"
        aria-label={`Search ${label}`}
        onInput={search}
        onKeyDown={turn}
      />
      <Button style="quiet small" act={() => move(1)}>
        Next
      </Button>
      <span class="soft" role="status">
        {text === "" ? "" : count}
      </span>
    </>
  );
}

interface NodeProps {
  readonly value: unknown;
  /** Of the member; null for the whole value. */
  readonly name: string | null;
  readonly level: number;
  /** The way from the whole value to what is looked for, where that leads to or through here. */
  readonly goal: JsonPath | null;
}

/** One value of the tree. */
function JsonNode({ value, name, level, goal }: NodeProps) {
  const element = useRef<HTMLElement | null>(null);
  const isFound = goal !== null && goal.length === level;
  useEffect(() => {
    if (isFound) element.current?.scrollIntoView({ block: "nearest" });
  }, [isFound, goal]);
  const title =
    name === null ? null : (
      <span class="json-name">
        <Said text={name} isCode />
      </span>
    );
  const mark = isFound ? "json-found" : "";
  if (isBranch(value))
    return (
      <div class={mark} ref={element}>
        <JsonBranch value={value} title={title} level={level} goal={isFound ? null : goal} />
      </div>
    );
  return (
    <div class={`json-leaf ${mark}`} ref={element}>
      {title}
      <JsonLeaf value={value} />
    </div>
  );
}

function isBranch(value: unknown): value is object {
  const isValue = typeof value !== "object" || value === null || value instanceof ExactNumber;
  return !isValue && Object.keys(value).length > 0;
}

function JsonLeaf({ value }: { value: unknown }) {
  if (value instanceof ExactNumber) return <span class="json-number">{value.text}</span>;
  if (typeof value === "object" && value !== null)
    return <span class="json-empty">{Array.isArray(value) ? "[ ]" : "{ }"}</span>;
  if (typeof value === "string") return <JsonText text={JSON.stringify(value)} />;
  return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
}

/** As it is written in JSON: what is cut off has no quote at its end. */
function JsonText({ text }: { text: string }) {
  const [to, setTo] = useState(CHARACTERS_AT_ONCE);
  return (
    <>
      <span class="json-string">
        <Said text={text.slice(0, to)} isCode />
      </span>
      {text.length <= to ? null : (
        <More
          count={text.length - to}
          where="more characters"
          act={() => setTo(to + CHARACTERS_AT_ONCE)}
        />
      )}
    </>
  );
}

/** An object or an array; its members are made when it is opened for the first time. */
function JsonBranch(props: { value: object; title: Child; level: number; goal: JsonPath | null }) {
  const { value, title, level, goal } = props;
  const names = Object.keys(value);
  const [isOpen, setOpen] = useState(level < OPEN_LEVELS && names.length <= OPEN_MEMBERS);
  const [part, setPart] = useState(FIRST);
  const goalAt = goal === null ? -1 : names.indexOf(goal[level] ?? "");
  const shown = goalAt === -1 ? part : partWith(goalAt, part);
  const { from, to } = shown;
  useLayoutEffect(() => {
    if (goalAt === -1) return;
    setOpen(true);
    setPart(shown);
  }, [goal]);
  const toggled = ({ target, currentTarget }: Event): void => {
    if (target === currentTarget) setOpen((target as HTMLDetailsElement).open);
  };
  return (
    <details open={isOpen || goalAt >= 0} onToggle={toggled}>
      <summary>
        {title}
        <span class="json-size">{sizeOf(value, names.length)}</span>
      </summary>
      {isOpen || goalAt >= 0 ? (
        <div class="json-members">
          {from === 0 ? null : (
            <More count={from} where="more above" act={() => setPart({ from: less(from), to })} />
          )}
          {names.slice(from, to).map((name, at) => (
            <JsonNode
              key={name}
              value={Reflect.get(value, name)}
              name={name}
              level={level + 1}
              goal={from + at === goalAt ? goal : null}
            />
          ))}
          {names.length <= to ? null : (
            <More
              count={names.length - to}
              where="more"
              act={() => setPart({ from, to: to + MEMBERS_AT_ONCE })}
            />
          )}
        </div>
      ) : null}
    </details>
  );
}

/** The members of a value that are shown, by their place. */
interface Part {
  readonly from: number;
  readonly to: number;
}

const FIRST: Part = { from: 0, to: MEMBERS_AT_ONCE };

/** As it is where it has the member; else around that: all up to it may be very many. */
function partWith(at: number, part: Part): Part {
  if (at >= part.from && at < part.to) return part;
  const from = less(at + MEMBERS_AT_ONCE / 2);
  return { from, to: from + MEMBERS_AT_ONCE };
}

function less(at: number): number {
  return Math.max(0, at - MEMBERS_AT_ONCE);
}

function More({ count, where, act }: { count: number; where: string; act: () => void }) {
  return (
    <Button style="quiet json-more" act={act}>
      {plural(count, where, where)}
    </Button>
  );
}

function sizeOf(value: object, count: number): string {
  if (Array.isArray(value)) return `[ ${plural(count, "item")} ]`;
  return `{ ${plural(count, "member")} }`;
}
