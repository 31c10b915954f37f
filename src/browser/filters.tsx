import { useRef, type Child } from "hono/jsx/dom";
import { textOf } from "./form-values.ts";

/** How long typing rests before the list is asked, in milliseconds. */
export const REST_MS = 250;

export type Filters = Readonly<Record<string, string>>;

/** The filters of a list that the address carries; whoever hands it on may have added others. */
export function filtersOfAddress(names: readonly string[]): Filters {
  const given = [...new URLSearchParams(location.search)];
  return Object.fromEntries(given.filter(([name]) => names.includes(name)));
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
