import { toValue } from "./connection.ts";

/**
 * A list of values as PostgreSQL sends and receives its arrays (array_send, array_recv in
 * src/backend/utils/adt/arrayfuncs.c): the server takes such bytes without looking for quotes and
 * digits, and nobody writes them.
 */

export type ElementType = "bigint" | "text" | "bytea" | "json";

/** Object ids of the types (pg_type). */
const OIDS: Readonly<Record<ElementType, number>> = { bigint: 20, bytea: 17, json: 114, text: 25 };

/** Dimensions, whether there are nulls, type; then length and first index of the one dimension. */
const HEAD_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
const BIGINT_BYTES = 8;
const HALF = 2 ** 32;

/** @param values of `bigint` whole numbers, of `bytea` bytes, else texts; or null */
export function toListBytes(type: ElementType, values: readonly unknown[]): Buffer {
  const items = values.map(toValue);
  const sizes = items.map((item) => toSize(type, item));
  const total = sizes.reduce((sum, size) => sum + LENGTH_BYTES + Math.max(size, 0), HEAD_BYTES);
  const bytes = Buffer.allocUnsafe(total);
  let at = writeHead(bytes, type, items);
  items.forEach((item, place) => {
    at = bytes.writeInt32BE(sizes[place] as number, at);
    at += writeItem(bytes, item, at);
  });
  return bytes;
}

/** Bytes of a value, or what stands there for null. */
function toSize(type: ElementType, item: unknown): number {
  if (item === null) return NULL_LENGTH;
  if (type === "bigint" && Number.isSafeInteger(item)) return BIGINT_BYTES;
  if (type === "bytea" && item instanceof Uint8Array) return item.byteLength;
  if ((type === "text" || type === "json") && typeof item === "string")
    return Buffer.byteLength(item);
  throw new TypeError(`A list of ${type} cannot hold a value of type ${typeof item}`);
}

function writeHead(bytes: Buffer, type: ElementType, items: readonly unknown[]): number {
  bytes.writeInt32BE(1, 0);
  bytes.writeInt32BE(Number(items.includes(null)), 4);
  bytes.writeInt32BE(OIDS[type], 8);
  bytes.writeInt32BE(items.length, 12);
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
