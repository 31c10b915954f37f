import { useLayoutEffect, useRef } from "hono/jsx/dom";

/** Where somebody was in a paged list. */
interface ListPlace {
  /** Which list it was, with its filters. */
  readonly list: string;
  /** Of the page and those before it; the first page has none. */
  readonly cursors: readonly string[];
  /** How far it was scrolled, in pixels. */
  readonly top: number;
}

const FIRST = { cursors: [], top: 0 };

/**
 * Begins a list where it was left. The entry of the browser's history knows the place, for whoever
 * comes back to it or reloads it; other filters give it another address, which forgets it. Whoever
 * leaves before a page is shown leaves it as it was.
 *
 * @param cursors of the page that is shown
 * @param isShown whether one is
 * @param begin reads the page that the last of these cursors leads to
 */
export function useListPlace(
  list: string,
  cursors: readonly string[],
  isShown: boolean,
  begin: (cursors: readonly string[]) => void,
): void {
  const now = useRef<readonly string[] | null>(null);
  now.current = isShown ? cursors : null;
  const top = useRef(0);
  useLayoutEffect(() => {
    const kept = placeOf(list) ?? FIRST;
    top.current = kept.top;
    begin(kept.cursors);
    const leave = (): void => {
      if (now.current !== null) keep({ list, cursors: now.current, top: scrollY });
    };
    addEventListener("pagehide", leave);
    return () => removeEventListener("pagehide", leave);
  }, [list]);
  useLayoutEffect(() => {
    if (isShown && top.current !== 0) scrollTo({ top: top.current ?? 0 });
  }, [isShown]);
}

function keep(place: ListPlace): void {
  history.replaceState(place, "");
}

/** Null: the entry knows another list, or none. */
function placeOf(list: string): ListPlace | null {
  const kept = history.state as ListPlace | null;
  return kept?.list === list ? kept : null;
}
