import { useLayoutEffect, useRef, useState, type Child } from "hono/jsx/dom";
import { read, type List } from "./api.ts";
import { Announced } from "./announced.tsx";
import { Button } from "./button.tsx";
import { useServiceBack } from "./connection.ts";
import { plural } from "./format.ts";
import { onKeys } from "./keys.ts";
import { useListPlace } from "./list-place.ts";
import { complain } from "./notice.tsx";
import { useRowFocus } from "./row-focus.ts";
import { track } from "./shown.ts";
import { Table, type TableProps } from "./table.tsx";

/** Items of a page. */
export const PAGE = 50;

export interface Pages<Item> {
  /** Of the page that is shown; null until the first is there. */
  readonly items: readonly Item[] | null;
  /** As they were when the page was turned to: what is not among them has come since. */
  readonly atFirst: readonly Item[];
  /** The number of the page that is shown, from 1. */
  readonly number: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly isBusy: boolean;
  /** From the first page on. */
  reload(): Promise<void>;
  /** The page that is shown, as it is now. */
  refresh(): Promise<void>;
  turn(by: 1 | -1): Promise<void>;
  /** Changes the items of the page that is shown; also of one that is being read, once it is there. */
  change(by: Change<Item>): void;
}

type Change<Item> = (items: readonly Item[], isFirst: boolean) => readonly Item[];

interface Shown<Item> {
  readonly items: readonly Item[] | null;
  /** Null: the page that was asked for was not shown yet. */
  readonly atFirst: readonly Item[] | null;
  /** Of this page and those before it; the first page has none. */
  readonly cursors: readonly string[];
  readonly next: string | null;
  /** Whether rows were pushed off the page since it was read, so that `next` does not follow it. */
  readonly isCut: boolean;
  /** Whether what was asked for last is not there: the items, if any, may be those of other filters. */
  readonly isMissing: boolean;
}

/** A page that is being read. */
interface Reading<Item> {
  readonly cursors: readonly string[];
  readonly abort: AbortController;
  /** What changed since it was asked for: its answer may not have that. */
  readonly missed: Change<Item>[];
  /** Whether it is read once more, as what it is asked for has to be newer. */
  isAgain: boolean;
}

function newReading<Item>(cursors: readonly string[]): Reading<Item> {
  return { cursors, abort: new AbortController(), missed: [], isAgain: false };
}

/** A list that the server pages: the browser never holds more than one page of it. */
export function usePages<Item>(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): Pages<Item> {
  const [shown, setShown] = useState<Shown<Item>>(NOTHING);
  const [isBusy, setBusy] = useState(true);
  const latest = useRef(shown);
  const reading = useRef<Reading<Item> | null>(null);
  const show = (now: Shown<Item>): void => {
    latest.current = now;
    setShown(now);
  };

  /** @returns whether its answer was shown: what is asked for next takes the place of one that waits */
  async function load(cursors: readonly string[], isSame = false): Promise<boolean> {
    reading.current?.abort.abort();
    const mine = (reading.current = newReading(cursors));
    setBusy(true);
    show({ ...latest.current, atFirst: isSame ? latest.current.atFirst : null, isMissing: true });
    const wanted = { limit: String(PAGE), ...query, cursor: cursors.at(-1) };
    try {
      const list = await read<List<Item>>(path, wanted, mine.abort.signal);
      if (mine !== reading.current) return false;
      // All that was on it may have been deleted since its cursor was kept.
      if (list.items.length === 0 && cursors.length > 0) return await load([]);
      show(mine.missed.reduce(changed<Item>, toPage(list, cursors, latest.current.atFirst)));
      return true;
    } catch (error) {
      if (!mine.abort.signal.aborted) throw error;
      return false;
    } finally {
      if (mine === reading.current) end(mine);
    }
  }

  function end({ cursors, isAgain }: Reading<Item>): void {
    reading.current = null;
    setBusy(false);
    if (isAgain) load(cursors, true).catch(complain);
  }

  async function turn(by: 1 | -1): Promise<void> {
    // What was pushed off is neither on this page nor on the one that followed it: it is read again,
    // unless that gives way to another list.
    if (by === 1 && latest.current.isCut && !(await load(latest.current.cursors))) return;
    const { cursors, next } = latest.current;
    if (by === -1) await load(cursors.slice(0, -1));
    else if (next !== null) await load([...cursors, next]);
    scrollTo({ top: 0 });
  }

  async function refresh(): Promise<void> {
    if (reading.current === null) await load(latest.current.cursors, true);
    else reading.current.isAgain = true;
  }

  function change(by: Change<Item>): void {
    show(changed(latest.current, by));
    reading.current?.missed.push(by);
    if (isThin(latest.current) && reading.current === null) refresh().catch(complain);
  }

  useListPlace(JSON.stringify([path, query]), shown.cursors, shown.items !== null, (cursors) => {
    // What cannot be read now is read again from here.
    show({ ...latest.current, cursors });
    track(load(cursors)).catch(complain);
  });
  useServiceBack(shown.isMissing, () => void refresh().catch(complain));
  const reload = () => load([]).then(() => {});
  return { ...ends(shown), isBusy, reload, refresh, turn, change };
}

function toPage<Item>(
  { items, next_cursor }: List<Item>,
  cursors: readonly string[],
  atFirst: readonly Item[] | null,
): Shown<Item> {
  const next = next_cursor;
  return { items, atFirst: atFirst ?? items, cursors, next, isCut: false, isMissing: false };
}

/** What is shown, and whether anything is before and behind it. */
function ends<Item>({ items, atFirst, cursors, next, isCut }: Shown<Item>) {
  const number = cursors.length + 1;
  return {
    items,
    atFirst: atFirst ?? items ?? [],
    number,
    isFirst: number === 1,
    isLast: next === null && !isCut,
  };
}

const NOTHING = {
  items: null,
  atFirst: null,
  cursors: [],
  next: null,
  isCut: false,
  isMissing: true,
};

function changed<Item>(now: Shown<Item>, by: Change<Item>): Shown<Item> {
  if (now.items === null) return now;
  const items = by(now.items, now.cursors.length === 0);
  return { ...now, items: items.slice(0, PAGE), isCut: now.isCut || items.length > PAGE };
}

/** So many rows have left it that those of the page behind it have to move up. */
function isThin({ items, next }: Shown<unknown>): boolean {
  return next !== null && (items?.length ?? PAGE) < PAGE / 2;
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
  const rowFocus = useRowFocus(items);
  if (items === null) return <div class="list" aria-busy={isBusy ? "true" : undefined}></div>;
  return (
    <>
      <Announced text={describe(pages, table.rowOf)} />
      <div class="list" aria-busy={isBusy ? "true" : undefined} {...rowFocus}>
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
    </>
  );
}

/** What a page shows, and how much of it stands out as new: `Page 2: 50 rows, 3 new`. */
function describe<Item>(
  { items, number, isFirst, isLast }: Pages<Item>,
  rowOf: TableProps<Item>["rowOf"],
): string {
  const fresh = items?.filter((item) => rowOf?.(item).style === "new") ?? [];
  const page = isFirst && isLast ? "" : `Page ${number}: `;
  const rows = items?.length === 0 ? "no rows" : plural(items?.length ?? 0, "row");
  return `${page}${rows}${fresh.length === 0 ? "" : `, ${fresh.length} new`}`;
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
