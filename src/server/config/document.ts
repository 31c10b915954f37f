import { readFileSync } from "node:fs";
import {
  constructFromEvents,
  CORE_SCHEMA,
  EVENT_ID,
  getScalarValue,
  load,
  parseEvents,
  realMapTag,
  YAMLException,
  type Event,
} from "js-yaml";
import { reasonOf, refuse } from "./config-error.ts";

/** A value as it was written, and where. */
export interface Given {
  readonly value: unknown;
  /** `FILE:LINE` or the variable's name, for messages. */
  readonly place: string;
}

/** The keys of a configuration file in the order written; throws ConfigError with line and column. */
export function readDocument(file: string): Map<string, Given> {
  const source = readText(file);
  const events = atPlace(file, () => parseEvents(source, { filename: file }));
  const count = events.filter((event) => event.type === EVENT_ID.DOCUMENT).length;
  if (count > 1) refuse(file, "Found several YAML documents, expected one");
  const keys = readKeys(events, source);
  refuseTwice(file, keys);
  const documents = atPlace(file, () =>
    constructFromEvents(events, {
      source,
      schema: CORE_SCHEMA.withTags(realMapTag),
      filename: file,
    }),
  );
  const [document] = documents;
  if (document === undefined || document === null) return new Map();
  if (!(document instanceof Map)) {
    refuse(file, `Found ${kindOf(document)}, expected a mapping of keys to values`);
  }
  return new Map(
    [...document].map(([key, value]: [unknown, unknown], index) => [
      String(key),
      { value, place: `${file}:${keys[index]?.line ?? 1}` },
    ]),
  );
}

/** The value of a YAML scalar or flow sequence, as given in an environment variable. */
export function readInline(text: string, place: string): unknown {
  return atPlace(place, () => load(text), false);
}

function readText(file: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    return refuse(file, `File cannot be read: ${reasonOf(error)}`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return refuse(file, "Found bytes that are not UTF-8, expected YAML in UTF-8");
  }
}

/** Runs a step of the YAML parser; its exceptions become faults with line and column. */
function atPlace<T>(place: string, act: () => T, withLine = true): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { mark } = error;
    const at = mark && withLine ? `${place}:${mark.line + 1}:${mark.column + 1}` : place;
    return refuse(at, `YAML cannot be parsed: ${error.reason}`);
  }
}

interface WrittenKey {
  readonly name: string;
  readonly line: number;
}

/** The keys of the top mapping, in order. What is nested is skipped by its depth. */
function readKeys(events: readonly Event[], source: string): WrittenKey[] {
  const keys: WrittenKey[] = [];
  let depth = 0;
  let nodes = 0;
  for (const event of events) {
    const isKey = depth === 2 && event.type !== EVENT_ID.POP && nodes++ % 2 === 0;
    if (isKey && event.type === EVENT_ID.SCALAR) {
      const name = getScalarValue(source, event);
      keys.push({ name, line: lineAt(source, event.valueStart) });
    }
    if (event.type === EVENT_ID.POP) depth--;
    else if (event.type !== EVENT_ID.SCALAR && event.type !== EVENT_ID.ALIAS) depth++;
  }
  return keys;
}

function refuseTwice(file: string, keys: readonly WrittenKey[]): void {
  const first = new Map<string, number>();
  for (const { name, line } of keys) {
    const before = first.get(name);
    if (before !== undefined) {
      refuse(`${file}:${line}`, `Found ${name} again, expected it once (it is on line ${before})`);
    }
    first.set(name, line);
  }
}

function lineAt(source: string, position: number): number {
  return source.slice(0, Math.max(0, position)).split(/\r\n|\r|\n/).length;
}

/** What kind of value it is, without the value: it may hold a password. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a mapping";
  return typeof value === "string" ? "a text" : `a ${typeof value}`;
}
