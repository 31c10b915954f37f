import { useLayoutEffect, useRef } from "hono/jsx/dom";

const USED = "a, button, summary, input, select";

/** What has the focus in a list, and the number of its row. */
interface Focused {
  readonly element: Element;
  readonly row: number;
}

/**
 * Where a row that has the focus goes, as it was deleted, the focus goes to the row that takes its place
 * instead of to the top of the page; to the list itself where that has no row any more.
 *
 * @param of the rows: the focus is looked after where they change
 * @returns for the element that the list is in
 */
export function useRowFocus(of: unknown) {
  const place = useRef<HTMLElement | null>(null);
  const last = useRef<Focused | null>(null);
  useLayoutEffect(() => {
    const list = place.current;
    const lost = last.current;
    if (list === null || lost === null || lost.element.isConnected) return;
    last.current = null;
    if (document.activeElement !== document.body) return;
    const rows = rowsOf(list);
    const row = rows[lost.row] ?? rows.at(-1);
    (row?.querySelector<HTMLElement>(USED) ?? list).focus();
  }, [of]);
  const onFocusIn = ({ target }: Event): void => {
    if (!(target instanceof Element)) return;
    const row = rowsOf(place.current).findIndex((one) => one.contains(target));
    last.current = row === -1 ? null : { element: target, row };
  };
  // An element that is taken away is not left: there is nothing that it is left for.
  const onFocusOut = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget !== null) last.current = null;
  };
  return { ref: place, tabindex: -1, onFocusIn, onFocusOut };
}

function rowsOf(list: HTMLElement | null): readonly HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("tbody tr") ?? [])];
}
