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
    if (list === null || lost === null) return;
    // Rows that come move it.
    last.current = lost.element.isConnected ? focusedIn(list, lost.element) : null;
    if (last.current !== null || document.activeElement !== document.body) return;
    const rows = rowsOf(list);
    const row = rows[lost.row] ?? rows.at(-1);
    // It was not asked for: whoever reads somewhere else goes on there.
    (row?.querySelector<HTMLElement>(USED) ?? list).focus({ preventScroll: true });
  }, [of]);
  const onFocusIn = ({ target }: Event): void => {
    if (target instanceof Element) last.current = focusedIn(place.current, target);
  };
  // Browsers tell it before they take an element away, which is then not left.
  const onFocusOut = ({ target }: Event): void => {
    if (target instanceof Element) queueMicrotask(() => forgetLeft(target));
  };
  const forgetLeft = (element: Element): void => {
    const isLeft = element.isConnected && document.activeElement !== element;
    if (isLeft && last.current?.element === element) last.current = null;
  };
  return { ref: place, tabindex: -1, onFocusIn, onFocusOut };
}

/** Null: it is in no row. */
function focusedIn(list: HTMLElement | null, element: Element): Focused | null {
  const row = rowsOf(list).findIndex((one) => one.contains(element));
  return row === -1 ? null : { element, row };
}

function rowsOf(list: HTMLElement | null): readonly HTMLElement[] {
  return [...(list?.querySelectorAll<HTMLElement>("tbody tr") ?? [])];
}
