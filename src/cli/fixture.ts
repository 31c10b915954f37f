import { ExactNumber } from "../shared/json-exact.ts";
import { SECRET_HEADER } from "../shared/secret-header.ts";
import { openClient, toPath } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { printJson, toLine } from "./table.ts";

/** A header that names a delivery, and opens nothing. */
const HARMLESS_HEADER = /^idempotency-key$/;
/** Names of parameters and members that hold credentials. */
const SECRET_MEMBER =
  /passw(?:or)?d|secret|token|credential|authorization|cookie|api[-_]?key|private[-_]?key/i;
/** Flowhook's own keys and tokens, wherever they stand. */
const OWN = /\bfh[kt]_[\w-]{20,}/g;

const REMOVED = "removed";

/**
 * Prints the input of an execution for `testFlow` and `flow run --input`, and says on standard error
 * what was left out or replaced.
 */
export async function printFixture(id: string, options: ConnectionOptions): Promise<void> {
  const path = toPath("execution", id);
  const record = await openClient(options).json<{ input_value: unknown }>("GET", path, {
    has: "input_value",
  });
  const removed: string[] = [];
  printJson(withoutCredentials(record.input_value, removed));
  const places = removed.length === 0 ? "nothing" : removed.map(toLine).join(", ");
  process.stderr.write(`Credentials removed: ${places}. Look for others before you share it\n`);
}

/** @param removed is told the places */
function withoutCredentials(input: unknown, removed: string[]): unknown {
  if (!isRecord(input) || !isRecord(input["headers"])) return clean(input, "input_value", removed);
  const { headers, ...rest } = input;
  const kept = Object.entries(headers).filter(([name]) => {
    const isSecret = SECRET_HEADER.test(name) && !HARMLESS_HEADER.test(name);
    if (isSecret) removed.push(`headers.${name}`);
    return !isSecret;
  });
  const members = Object.entries(rest).map(([name, value]) => [name, clean(value, name, removed)]);
  const shown = clean(Object.fromEntries(kept), "headers", removed);
  return { ...Object.fromEntries(members), headers: shown };
}

/** @param isSecret whether the name of what holds it says so: of lists and objects all within */
function clean(value: unknown, place: string, removed: string[], isSecret = false): unknown {
  if (Array.isArray(value))
    return value.map((item, at) => clean(item, `${place}.${at}`, removed, isSecret));
  if (isRecord(value)) {
    const members = Object.entries(value).map(([name, member]) => {
      const isOfSecret = isSecret || SECRET_MEMBER.test(name);
      return [name, clean(member, `${place}.${name}`, removed, isOfSecret)];
    });
    return Object.fromEntries(members);
  }
  const left = isSecret && value !== null ? REMOVED : withoutOwn(value);
  if (left !== value) removed.push(place);
  return left;
}

function withoutOwn(value: unknown): unknown {
  return typeof value === "string" ? value.replace(OWN, REMOVED) : value;
}

/** A number whose digits are kept is an object too. */
function isRecord(value: unknown): value is Record<string, unknown> {
  if (value instanceof ExactNumber) return false;
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
