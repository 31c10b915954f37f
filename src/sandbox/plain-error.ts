import { inspect as inspectNow, types } from "node:util";
import * as js from "../shared/intrinsics.ts";

// What is imported by its name changes with what a flow does to the module that exports it.
const inspect = inspectNow;
const { custom } = inspectNow;
const { isNativeError } = types;

/** Of an object its kind alone: `[Headers]`. */
const KIND = { depth: -1, customInspect: false };

/** Of causes, and errors of errors; of those beyond their kind is told. */
const MOST_ERRORS = 20;
const MOST_ITEMS = 1000;

type Copies = Map<object, Error>;

/**
 * A copy of an error for a log that nobody asked to print it: with its stack, its causes and its plain
 * members, and of the objects in it the kind. What a client of HTTP throws holds the whole request,
 * with the credentials that were sent.
 */
export function plainError(error: Error): Error {
  return copyError(error, new js.Map());
}

function copyError(error: Error, copies: Copies): Error {
  const known = js.mapGet(copies, error);
  if (known !== undefined) return known;
  const copy = new js.Error();
  js.mapSet(copies, error, copy);
  js.setPrototypeOf(copy, js.getPrototypeOf(error));
  js.each(js.ownKeys(error), (name) => {
    // Defined below: one that is frozen could not be defined again.
    if (name === "stack") return;
    const found = js.getOwnPropertyDescriptor(error, name) as PropertyDescriptor;
    js.setPrototypeOf(found, null);
    if ("value" in found) found.value = toPlain(found.value, copies);
    // What `using` throws hides both of its errors.
    if ((name === "error" || name === "suppressed") && isNativeError(found.value))
      found.enumerable = true;
    js.defineProperty(copy, name, found);
  });
  // The runtime makes it when it is first read.
  const stack = { __proto__: null, value: stackOf(error), configurable: true };
  js.defineProperty(copy, "stack", stack as PropertyDescriptor);
  return copy;
}

function stackOf(error: Error): unknown {
  try {
    return js.get(error, "stack");
  } catch {
    return undefined;
  }
}

function toPlain(value: unknown, copies: Copies): unknown {
  if (typeof value === "function") return toKind(value);
  if (typeof value !== "object" || value === null) return value;
  if (isNativeError(value) && js.mapSize(copies) < MOST_ERRORS) return copyError(value, copies);
  return js.isArray(value) ? toPlainList(value, copies) : toKind(value);
}

/** With the kinds of the lists in it. */
function toPlainList(list: readonly unknown[], copies: Copies): unknown[] {
  const plain: unknown[] = [];
  const length = js.min(list.length, MOST_ITEMS);
  for (let at = 0; at < length; at += 1) {
    const item: unknown = js.getOwnPropertyDescriptor(list, at)?.value;
    js.push(plain, js.isArray(item) ? toKind(item) : toPlain(item, copies));
  }
  return plain;
}

function toKind(value: object): object {
  const kind = inspect(value, KIND);
  return { __proto__: null, [custom]: () => kind, toString: () => kind };
}
