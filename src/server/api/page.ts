import * as v from "valibot";
import type { List } from "../../shared/contract/list.ts";
import { RequestError } from "../../shared/errors.ts";
import { isId } from "../../shared/id.ts";

/** Paging of lists: `limit`, `cursor` and `order` in; `{items, next_cursor}` out. */
export const PAGE_QUERY = {
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,3}$/, "expected a whole number from 1 to 500"),
      v.transform(Number),
      v.minValue(1, "expected at least 1"),
      v.maxValue(500, "expected at most 500"),
    ),
    "50",
  ),
  cursor: v.optional(v.string()),
  order: v.optional(v.picklist(["asc", "desc"], 'expected "asc" or "desc"')),
};

/** A query parameter `true` or `false`. */
export const FLAG = v.pipe(
  v.picklist(["true", "false"], 'expected "true" or "false"'),
  v.transform((text) => text === "true"),
);

/** A query parameter that is a time in ISO 8601; milliseconds since the epoch. */
export const TIME = v.pipe(
  v.string(),
  v.check((text) => !Number.isNaN(Date.parse(text)), "expected a time in ISO 8601"),
  v.transform((text) => Date.parse(text)),
);

/** @throws RequestError invalid where it is no cursor of this service */
export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const key = Buffer.from(cursor, "base64url").toString();
  if (toCursor(key) !== cursor)
    throw new RequestError("invalid", "cursor: not one of this service");
  return key;
}

/** A cursor of a list in order of identifiers. */
export function fromIdCursor(cursor: string | undefined): string | undefined {
  const key = fromCursor(cursor);
  if (key === undefined || isId(key)) return key;
  throw new RequestError("invalid", "cursor: not one of this service");
}

/** A cursor of a list in order of numbers. */
export function fromNumberCursor(cursor: string | undefined): number | undefined {
  const key = fromCursor(cursor);
  if (key === undefined) return undefined;
  if (!/^\d{1,15}$/.test(key)) throw new RequestError("invalid", "cursor: not one of this service");
  return Number(key);
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
