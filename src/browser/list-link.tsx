import type { Child } from "hono/jsx/dom";
import type { Filters } from "./filters.tsx";
import { pagePath } from "./page.ts";

/**
 * The way from the page of an item to the list that it is in: back to the page of the list that the
 * visitor came from, in this tab and with its filters.
 *
 * @param props.list the segment of the list's path
 * @param props.filtersOf reads those of an address's query: the list that is led to has the same as
 *   the page of the item; left out: whichever it was left with
 */
export function ListLink(props: {
  list: string;
  filtersOf?: (search: string) => Filters;
  children: Child;
}) {
  const { list, filtersOf = () => ({}), children } = props;
  const queryOf = (search: string) => String(new URLSearchParams(filtersOf(search)));
  const query = queryOf(location.search);
  const left = leftEntry(pagePath(list), (search) => queryOf(search) === query);
  const go = (event: MouseEvent): void => {
    const opensAnother = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (left === null || opensAnother) return;
    event.preventDefault();
    const { committed, finished } = navigation.traverseTo(left.key);
    // Whoever is asked about what is not saved may stay.
    for (const end of [committed, finished]) end?.catch(() => {});
  };
  return (
    <a href={left?.url ?? pagePath(list) + (query && `?${query}`)} onClick={go}>
      {children}
    </a>
  );
}

/**
 * Where a list was left for the page of an item, and perhaps for that of another one from there. A
 * browser without the Navigation API knows no such place.
 */
function leftEntry(
  path: string,
  isOne: (search: string) => boolean,
): NavigationHistoryEntry | null {
  if (!("navigation" in window)) return null;
  const before = navigation.entries().slice(0, navigation.currentEntry?.index ?? 0);
  const last = before.findLast(({ url }) => !addressOf(url).pathname.startsWith(`${path}/`));
  const { pathname, search } = addressOf(last?.url ?? null);
  return last !== undefined && pathname === path && isOne(search) ? last : null;
}

/** @param url null: of a page that tells it to nobody */
function addressOf(url: string | null): URL {
  return new URL(url ?? "about:blank");
}
