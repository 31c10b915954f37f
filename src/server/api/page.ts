import * as v from "valibot";
import type { List } from "../../shared/contract/list.ts";
import type { RequestError } from "../../shared/errors.ts";
import { isId } from "../../shared/id.ts";
import { invalid } from "./named.ts";
import { text, wholeNumber } from "./parameters.ts";

/** Paging of lists: `limit`, `cursor` and `order` in; `{items, next_cursor}` out. */
export const PAGE_QUERY = {
  limit: v.optional(wholeNumber(1, 500, "Items of one page"), "50"),
  cursor: text("The `next_cursor` of the page before"),
  order: v.optional(
    v.pipe(
      v.picklist(["asc", "desc"], 'expected "asc" or "desc"'),
      v.description("Whether the first or the last comes first"),
    ),
  ),
};

/** @throws RequestError invalid where it is no cursor of this service */
export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined || cursor === "") return undefined;
  const key = Buffer.from(cursor, "base64url").toString();
  if (toCursor(key) !== cursor) throw refuseCursor(cursor);
  return key;
}

/** A cursor of a list in order of identifiers. */
export function fromIdCursor(cursor: string | undefined): string | undefined {
  const key = fromCursor(cursor);
  if (key === undefined || isId(key)) return key;
  throw refuseCursor(cursor);
}

/** A cursor of a list in order of numbers. */
export function fromNumberCursor(cursor: string | undefined): number | undefined {
  const key = fromCursor(cursor);
  if (key === undefined) return undefined;
  if (!/^\d{1,15}$/.test(key)) throw refuseCursor(cursor);
  return Number(key);
}

export function refuseCursor(cursor = ""): RequestError {
  return invalid(
    "cursor",
    `expected the next_cursor of a page of this list, found "${cursor.slice(0, 40)}"`,
  );
}

function toCursor(key: string): string {
  return Buffer.from(key).toString("base64url");
}

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next_cursor: string | null;
}

/** A page of rows that were read with one more than the limit, unless it is known what follows. */
export function toPage<Row>(
  rows: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string,
  hasMore = rows.length > limit,
): Page<Row> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next_cursor = hasMore && last !== undefined ? toCursor(keyOf(last)) : null;
  return { rows: shown, next_cursor };
}

/** The page as an answer. */
export function toList<Row, Item>(
  { rows, next_cursor }: Page<Row>,
  toItem: (row: Row) => Item,
): List<Item> {
  return { items: rows.map(toItem), next_cursor };
}
