import { toValue } from "./connection.ts";

/**
 * A list of rows as PostgreSQL sends and receives an array of a composite type (array_recv in
 * src/backend/utils/adt/arrayfuncs.c, record_recv in rowtypes.c): the server takes such bytes
 * without looking for quotes and digits, and nobody writes them. One list of rows costs it less
 * than two lists of their columns would.
 */

export type ElementType = "bigint" | "text" | "bytea";

/** Columns of a row, in their order. */
export type Types = Readonly<Record<string, ElementType>>;

/** A composite type that the database has. */
export interface RowType {
  readonly name: string;
  readonly columns: Types;
}

/** Of `bigint` whole numbers, of `bytea` bytes, else texts; null, or left out, is null. */
export type Cells = Readonly<Record<string, unknown>>;

export interface RowList {
  readonly type: RowType;
  readonly rows: readonly Cells[];
}

/** Object ids of the types of columns (pg_type). */
const OIDS: Readonly<Record<ElementType, number>> = { bigint: 20, bytea: 17, text: 25 };

/** Dimensions, whether there are nulls, type; then length and first index of the one dimension. */
const HEAD_BYTES = 20;
/** Of a row its length, and how many columns it has. */
const ROW_BYTES = 8;
/** Of a cell its type and its length. */
const CELL_BYTES = 8;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const BIGINT_BYTES = 8;
const HALF = 2 ** 32;

/**
 * @param oid object id of the rows' type in the database that they are sent to
 * @throws TypeError where a cell is not of its column's type
 */
export function toRowBytes({ type, rows }: RowList, oid: number): Buffer {
  const columns = Object.entries(type.columns);
  const items = rows.flatMap((row) => columns.map(([name]) => toValue(row[name] ?? null)));
  const sizes = items.map((item, at) => toSize(typeAt(columns, at), item));
  const cells = sizes.reduce((sum, size) => sum + CELL_BYTES + Math.max(size, 0), 0);
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + rows.length * ROW_BYTES + cells);
  let at = writeHead(bytes, oid, rows.length);
  for (let row = 0; row < rows.length; row += 1) {
    const from = at;
    at = bytes.writeInt32BE(columns.length, from + LENGTH_BYTES);
    for (let column = 0; column < columns.length; column += 1) {
      const place = row * columns.length + column;
      at = bytes.writeInt32BE(OIDS[typeAt(columns, column)], at);
      at = bytes.writeInt32BE(sizes[place] as number, at);
      at += writeItem(bytes, items[place], at);
    }
    bytes.writeInt32BE(at - from - LENGTH_BYTES, from);
  }
  return bytes;
}

type Columns = readonly (readonly [name: string, type: ElementType])[];

/** @param place of a cell, row after row */
function typeAt(columns: Columns, place: number): ElementType {
  return (columns[place % columns.length] as Columns[number])[1];
}

/** Bytes of a value, or what stands there for null. */
function toSize(type: ElementType, item: unknown): number {
  if (item === null) return NULL_LENGTH;
  if (type === "bigint" && Number.isSafeInteger(item)) return BIGINT_BYTES;
  if (type === "bytea" && item instanceof Uint8Array) return item.byteLength;
  if (type === "text" && typeof item === "string") return Buffer.byteLength(item);
  throw new TypeError(`A column of ${type} cannot hold a value of type ${typeof item}`);
}

function writeHead(bytes: Buffer, oid: number, count: number): number {
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(0, 4);
  bytes.writeUInt32BE(oid, 8);
  bytes.writeInt32BE(count, 12);
  return bytes.writeInt32BE(1, 16);
}

/** @returns how many bytes it wrote */
function writeItem(bytes: Buffer, item: unknown, at: number): number {
  if (typeof item === "string") return bytes.write(item, at);
  if (typeof item === "number") return writeBigint(bytes, item, at);
  if (!(item instanceof Uint8Array)) return 0;
  bytes.set(item, at);
  return item.byteLength;
}

/** In two halves: numbers without an object for each. */
function writeBigint(bytes: Buffer, value: number, at: number): number {
  bytes.writeInt32BE(Math.floor(value / HALF), at);
  bytes.writeUInt32BE(value >>> 0, at + LENGTH_BYTES);
  return BIGINT_BYTES;
}
