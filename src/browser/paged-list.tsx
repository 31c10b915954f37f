import { useLayoutEffect, useRef, useState, type Child } from "hono/jsx/dom";
import { read, type List } from "./api.ts";
import { Button } from "./button.tsx";
import { onKeys } from "./keys.ts";
import { complain } from "./notice.tsx";
import { track } from "./shown.ts";
import { Table, type TableProps } from "./table.tsx";

/** Items of a page. */
export const PAGE = 50;

export interface Pages<Item> {
  /** Of the page that is shown; null until the first is there. */
  readonly items: readonly Item[] | null;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly isBusy: boolean;
  /** From the first page on. */
  reload(): Promise<void>;
  turn(by: 1 | -1): Promise<void>;
  change(by: (items: readonly Item[]) => readonly Item[]): void;
}

interface Shown<Item> {
  readonly items: readonly Item[] | null;
  /** Of this page and those before it; the first page has none. */
  readonly cursors: readonly string[];
  readonly next: string | null;
}

/** A list that the server pages: the browser never holds more than one page of it. */
export function usePages<Item>(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): Pages<Item> {
  const [shown, setShown] = useState<Shown<Item>>({ items: null, cursors: [], next: null });
  const [isBusy, setBusy] = useState(true);
  const reading = useRef<AbortController | null>(null);

  async function load(cursors: readonly string[]): Promise<void> {
    reading.current?.abort();
    const mine = (reading.current = new AbortController());
    setBusy(true);
    const wanted = { limit: String(PAGE), ...query, cursor: cursors.at(-1) };
    try {
      const { items, next_cursor } = await read<List<Item>>(path, wanted, mine.signal);
      setShown({ items, cursors, next: next_cursor });
      setBusy(false);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }

  useLayoutEffect(() => {
    track(load([])).catch(complain);
  }, [JSON.stringify([path, query])]);
  return {
    items: shown.items,
    isFirst: shown.cursors.length === 0,
    isLast: shown.next === null,
    isBusy,
    reload: () => load([]),
    async turn(by) {
      const { cursors, next } = shown;
      if (by === -1) await load(cursors.slice(0, -1));
      else if (next !== null) await load([...cursors, next]);
      scrollTo({ top: 0 });
    },
    change: (by) =>
      setShown((now) => (now.items === null ? now : { ...now, items: by(now.items) })),
  };
}

export function PagedList<Item>(
  props: Omit<TableProps<Item>, "items"> & {
    pages: Pages<Item>;
    /** In place of a table without rows. */
    empty: Child;
  },
) {
  const { pages, empty, ...table } = props;
  const { items, isFirst, isLast, isBusy, turn } = pages;
  useLayoutEffect(() => onKeys({ j: () => step(1), k: () => step(-1), "/": search }), []);
  if (items === null) return <div class="list" aria-busy="true"></div>;
  return (
    <div class="list" aria-busy={isBusy ? "true" : undefined}>
      {items.length === 0 ? empty : <Table {...table} items={items} />}
      {isFirst && isLast ? null : (
        <div class="paging">
          <Button style="quiet" isDisabled={isFirst} act={() => turn(-1)}>
            Back
          </Button>
          <Button style="quiet" isDisabled={isLast} act={() => turn(1)}>
            Next
          </Button>
        </div>
      )}
    </div>
  );
}

/** Moves the focus to the name in another row: the Enter key then opens what it names. */
function step(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(".list tbody th > a")];
  const at = links.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
  const next = at === -1 ? links.at(by === 1 ? 0 : -1) : links[at + by];
  next?.focus();
}

function search(): void {
  document.querySelector<HTMLElement>(".filters input[type=search]")?.focus();
}
