import { ExactNumber } from "../shared/json-exact.ts";

/** Names and indexes from the root to a value. */
export type JsonPath = readonly string[];

const MOST = 1000;

/** The places whose name or text contains what is looked for, in the order of the document. */
export function searchJson(value: unknown, wanted: string): readonly JsonPath[] {
  const text = wanted.toLowerCase();
  const found: JsonPath[] = [];
  if (text === "") return found;
  // A stack of its own: a deep value would use up the call stack.
  const waiting: { value: unknown; path: JsonPath }[] = [{ value, path: [] }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.length === MOST) return found;
    if (matches(next, text)) found.push(next.path);
    const { value: inner, path } = next;
    if (typeof inner !== "object" || inner === null || inner instanceof ExactNumber) continue;
    const members = Object.entries(inner).map(([name, member]: [string, unknown]) => ({
      value: member,
      path: [...path, name],
    }));
    for (const member of members.reverse()) waiting.push(member);
  }
  return found;
}

function matches({ value, path }: { value: unknown; path: JsonPath }, text: string): boolean {
  if (path.at(-1)?.toLowerCase().includes(text)) return true;
  if (value instanceof ExactNumber) return value.text.includes(text);
  return (
    (typeof value !== "object" || value === null) && String(value).toLowerCase().includes(text)
  );
}
