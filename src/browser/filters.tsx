import { useLayoutEffect, useRef, useState, type Child } from "hono/jsx/dom";
import { textOf } from "./form-values.ts";
import { complain } from "./notice.tsx";

/** How long typing rests before the list is asked, in milliseconds. */
export const REST_MS = 250;

export type Filters = Readonly<Record<string, string>>;

/** The filters of a list that the address carries; whoever hands it on may have added others. */
export function filtersOfAddress(names: readonly string[], search = location.search): Filters {
  const given = [...new URLSearchParams(search)];
  return Object.fromEntries(given.filter(([name]) => names.includes(name)));
}

/** The same that a list begins with; it says which others there are, as they filter nothing. */
export function useFiltersOfAddress(names: readonly string[]): Filters {
  const [first] = useState(() => filtersOfAddress(names));
  useComplaintsOfAddress(() => unknownOfAddress(names));
  return first;
}

/** Says once what is wrong with filters of the address. */
export function useComplaintsOfAddress(find: () => readonly string[]): void {
  useLayoutEffect(() => {
    for (const text of find()) complain(new Error(text));
  }, []);
}

/** What mail and advertisements add to the addresses that they hand on. */
const OF_OTHERS = /^(utm_.*|mc_.*|fbclid|gclid|msclkid)$/;

/** Filters that are named where more are unknown. */
const NAMED = 3;

/** What there is to say, if anything, of the filters of the address that a list has not. */
export function unknownOfAddress(names: readonly string[]): readonly string[] {
  const unknown = [...new URLSearchParams(location.search)].filter(
    ([name]) => !names.includes(name) && !OF_OTHERS.test(name),
  );
  if (unknown.length === 0) return [];
  const more = unknown.length > NAMED ? ` and ${unknown.length - NAMED} more` : "";
  const found = unknown.slice(0, NAMED).map(quote).join(", ") + more;
  const does = unknown.length === 1 ? "filters" : "filter";
  return [`${found} of the address ${does} nothing: expected one of ${names.join(", ")}`];
}

/** So many characters of a filter say which one it is. */
const LONGEST = 40;

/** A filter as the address has it, to be said what is wrong with it. */
export function quote(filter: readonly [name: string, text: string]): string {
  const text = filter.join("=");
  return `"${text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}"`;
}

/** Into the address. */
export function keepFilters(filters: Filters): void {
  const query = new URLSearchParams(filters);
  history.replaceState(null, "", query.size === 0 ? location.pathname : `?${query}`);
}

/**
 * A form of filters: the address carries them, so that a filtered list can be reloaded, kept as a
 * bookmark and handed on.
 */
export function FilterForm(props: { apply: (filters: Filters) => void; children: Child }) {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const form = useRef<HTMLFormElement | null>(null);
  const run = (): void => {
    if (form.current === null) return;
    const filters = filtersOf(new FormData(form.current));
    keepFilters(filters);
    props.apply(filters);
  };
  const rest = (ms: number): void => {
    clearTimeout(timer.current);
    timer.current = setTimeout(run, ms);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    rest(0);
  };
  const typed = ({ target }: Event): void => rest(target instanceof HTMLInputElement ? REST_MS : 0);
  return (
    <form class="filters" role="search" ref={form} onSubmit={submit} onInput={typed}>
      {props.children}
    </form>
  );
}

function filtersOf(values: FormData): Filters {
  const texts = [...values.keys()].map((name) => [name, textOf(values, name)] as const);
  return Object.fromEntries(texts.filter(([, text]) => text !== ""));
}
