import * as js from "../shared/intrinsics.ts";
import { pin } from "./pin.ts";
import type { Shared } from "./shared-objects.ts";

/**
 * What an assignment gives one object in place of what it inherits, which a prototype that is only
 * frozen refuses. The runtime gives streams and parts of a Blob their constructor: to a body that is
 * sent, and to all that is cloned or piped. The methods are those that programs replace on one
 * object; each costs a thread's start some 10 µs.
 */
const REPLACED = {
  __proto__: null,
  "Array.prototype": ["concat", "entries", "find", "keys", "push", "toString", "values"],
  "Blob.prototype": ["constructor"],
  "Date.prototype": ["toISOString", "toJSON", "toString", "valueOf"],
  "Headers.prototype": ["append", "get", "set"],
  "Map.prototype": ["clear", "delete", "get", "has", "set"],
  "Promise.prototype": ["catch", "finally", "then"],
  "ReadableStream.prototype": ["constructor"],
  "Request.prototype": ["clone", "json", "text"],
  "Response.prototype": ["clone", "json", "text"],
  "Set.prototype": ["add", "clear", "delete", "has"],
  "TransformStream.prototype": ["constructor"],
  "WeakMap.prototype": ["delete", "get", "has", "set"],
  "WritableStream.prototype": ["constructor"],
} as unknown as Readonly<Record<string, readonly string[] | undefined>>;

/** Freezes what does not stay open. */
export function freezeAll(shared: readonly Shared[]): void {
  js.each(shared, ({ name, object, isOpen }) => {
    if (isOpen) return;
    const replaced = REPLACED[name];
    if (js.endsWith(name, "Error.prototype")) pin(object);
    else if (replaced !== undefined) pin(object, replaced);
    js.freeze(object);
  });
}
