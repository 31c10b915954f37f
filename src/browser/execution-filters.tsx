import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { STATUS, STATUSES, type Status } from "../shared/contract/status.ts";
import { read, readAll } from "./api.ts";
import { Button } from "./button.tsx";
import {
  EXECUTION_FILTERS,
  isDay,
  isTime,
  TIME_EXPECTED,
  toInstant,
  toStatuses,
} from "./execution-query.ts";
import { readFilterWords, toFilterWord } from "./filter-words.ts";
import { keepFilters, REST_MS, type Filters } from "./filters.tsx";
import { useLoaded } from "./loaded.ts";
import { complain } from "./notice.tsx";
import { may } from "./page.ts";
import type { Flow, Named } from "./resources.ts";
import { Said } from "./said.tsx";
import { Time } from "./time.tsx";

/** The filters that can be typed. */
export const WORDS = ["status", "webhook", "flow", "project", "from", "until"] as const;

interface Lists {
  readonly webhooks: readonly Named[];
  readonly flows: readonly Named[];
  readonly projects: readonly Named[];
}

interface Props {
  readonly filters: Filters;
  readonly apply: (filters: Filters) => void;
}

/** One field to search with, and a chip for each filter; the address carries them. */
export function ExecutionFilters({ filters, apply }: Props) {
  const [lists] = useLoaded(readLists);
  const change = (changed: Filters): void => {
    const set = Object.fromEntries(
      Object.entries({ ...filters, ...changed }).filter(([, value]) => value !== ""),
    );
    keepFilters(set);
    apply(set);
  };
  return (
    <div class="search">
      <SearchField filters={filters} apply={change} lists={lists} />
      <StatusChips filters={filters} apply={change} />
      <SetChips filters={filters} apply={change} projects={lists?.projects ?? []} />
    </div>
  );
}

function SearchField({ filters, apply, lists }: Props & { lists: Lists | null }) {
  const field = useRef<HTMLInputElement | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(apply);
  // What is typed stays as it is while the list follows it.
  const [first] = useState(filters["text"] ?? "");
  useLayoutEffect(() => {
    latest.current = apply;
  });
  const words = () => readFilterWords(field.current?.value ?? "", WORDS);
  const typed = (): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => latest.current({ text: words().text }), REST_MS);
  };
  const run = async (): Promise<void> => {
    const given = field.current?.value;
    const { text, named } = words();
    const chosen = await toFilters(named);
    // Whoever types on sends it again.
    if (field.current === null || field.current.value !== given) return;
    latest.current({ text, ...chosen });
    field.current.value = text;
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    clearTimeout(timer.current);
    run().catch(complain);
  };
  return (
    <form class="filters" role="search" onSubmit={submit}>
      <input
        type="search"
        name="text"
        aria-label="Search"
        placeholder="Search messages, or status:failed, webhook:NAME, flow:NAME, project:NAME, from:2026-01-31"
        value={first}
        autocomplete="off"
        autocapitalize="none"
        list="filter-words"
        ref={field}
        onInput={typed}
      />
      <datalist id="filter-words">
        {wordsOf(lists).map((word) => (
          <option key={word} value={word}></option>
        ))}
      </datalist>
    </form>
  );
}

/** @throws Error with what is wrong */
async function toFilters(named: Filters): Promise<Filters> {
  const { status, project, from, until, ...others } = named;
  return {
    ...others,
    ...(status === undefined ? {} : { status: toStatuses(status) }),
    ...(project === undefined ? {} : { project_id: await idOf(project) }),
    ...(from === undefined ? {} : { from: asTime("from", from) }),
    ...(until === undefined ? {} : { to: asTime("until", until) }),
  };
}

/** @throws ApiError where there is none, or the visitor may see none */
async function idOf(project: string): Promise<string> {
  return (await read<Required<Named>>(["project", project])).id;
}

/** @throws Error where it is no time */
function asTime(word: string, text: string): string {
  if (toInstant("from", text) !== null) return text;
  throw new Error(`"${word}:${text}": ${TIME_EXPECTED}`);
}

function wordsOf(lists: Lists | null): readonly string[] {
  const statuses = STATUSES.map((status) =>
    toFilterWord("status", STATUS[status].label.toLowerCase()),
  );
  if (lists === null) return statuses;
  const of = (word: string, all: readonly Named[]) =>
    all.map(({ name }) => toFilterWord(word, name));
  return [
    ...statuses,
    ...of("webhook", lists.webhooks),
    ...of("flow", lists.flows),
    ...of("project", lists.projects),
  ];
}

/** Any of the statuses that are pressed; all, where none is. */
function StatusChips({ filters, apply }: Props) {
  const chosen = (filters["status"] ?? "").split(",").filter((status) => status !== "");
  const turn = (status: Status): void => {
    const now = chosen.includes(status)
      ? chosen.filter((other) => other !== status)
      : [...chosen, status];
    apply({ status: now.join(",") });
  };
  return (
    <div class="chips" role="group" aria-label="Status">
      {STATUSES.toReversed().map((status) => (
        <Button
          key={status}
          style="chip"
          isPressed={chosen.includes(status)}
          act={() => turn(status)}
        >
          {STATUS[status].label}
        </Button>
      ))}
    </div>
  );
}

/** Those that have a place of their own above. */
const SHOWN_ABOVE: readonly string[] = ["status", "text"];

/** The filters that are set beside those; pressing one takes it away. */
function SetChips({ filters, apply, projects }: Props & { projects: readonly Named[] }) {
  const set = EXECUTION_FILTERS.filter(
    ([name]) => !SHOWN_ABOVE.includes(name) && (filters[name] ?? "") !== "",
  );
  if (set.length === 0) return null;
  return (
    <div class="chips" role="group" aria-label="Filters">
      {set.map(([name, label]) => (
        <Button key={name} style="chip" act={() => apply({ [name]: "" })}>
          <span>
            {label} <FilterValue name={name} value={filters[name] ?? ""} projects={projects} />
          </span>
          <span aria-hidden="true"> ×</span>
          <span class="hidden-text">, remove</span>
        </Button>
      ))}
    </div>
  );
}

interface FilterValueProps {
  readonly name: string;
  readonly value: string;
  readonly projects: readonly Named[];
}

/** A day as it was given; a moment as all others of the page, whatever zone it was given in. */
function FilterValue({ name, value, projects }: FilterValueProps) {
  if (name === "project_id")
    return <Said text={projects.find(({ id }) => id === value)?.name ?? value} />;
  if (!isTime(name)) return <Said text={value} />;
  if (isDay(value)) return name === "to" ? `the end of ${value}` : value;
  return <Time of={toInstant(name, value)} />;
}

async function readLists(): Promise<Lists> {
  const [webhooks, flows, projects] = await Promise.all([
    may("webhook.read") ? readAll<Named>("webhook") : [],
    may("flow.read") ? readAll<Flow>("flow") : [],
    may("project.read") ? readAll<Named>("project") : [],
  ]);
  return { webhooks, flows, projects };
}
