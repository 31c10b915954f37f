import type { Child } from "hono/jsx/dom";
import { pagePath } from "./page.ts";

/**
 * The way from the page of an item to the list that it is in: back to the page of the list that the
 * visitor came from, in this tab and with its filters.
 *
 * @param props.list the segment of the list's path
 * @param props.query of the list for whoever comes from elsewhere, as `?status=FAILED`; left out: none
 */
export function ListLink(props: { list: string; query?: string; children: Child }) {
  const { list, query = "", children } = props;
  const left = leftEntry(pagePath(list));
  const go = (event: MouseEvent): void => {
    const opensAnother = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (left === null || opensAnother) return;
    event.preventDefault();
    const { committed, finished } = navigation.traverseTo(left.key);
    // Whoever is asked about what is not saved may stay.
    for (const end of [committed, finished]) end?.catch(() => {});
  };
  return (
    <a href={left?.url ?? pagePath(list) + query} onClick={go}>
      {children}
    </a>
  );
}

/**
 * Where a list was left for the page of an item, and perhaps for that of another one from there. A
 * browser without the Navigation API knows no such place.
 */
function leftEntry(path: string): NavigationHistoryEntry | null {
  if (!("navigation" in window)) return null;
  const before = navigation.entries().slice(0, navigation.currentEntry?.index ?? 0);
  const pathOf = ({ url }: NavigationHistoryEntry) => (url === null ? "" : new URL(url).pathname);
  const last = before.findLast((entry) => !pathOf(entry).startsWith(`${path}/`));
  return last !== undefined && pathOf(last) === path ? last : null;
}
