import { CORE_SCHEMA, load, YAMLException } from "js-yaml";
import { RequestError } from "../../shared/errors.ts";
import { describePosition, MAX_DEPTH } from "../request/position.ts";

/** Aliases in one document; js-yaml alone leaves them unlimited. */
const MAX_ALIASES = 100;

/**
 * Parses a body as YAML 1.2: the core schema, one document, no custom tags.
 *
 * @param limit bytes that the value may have with its aliases expanded
 * @throws RequestError bad_body, of what cannot be parsed with line and column
 */
export function parseYaml(text: string, limit: number): unknown {
  const options = { schema: CORE_SCHEMA, maxDepth: MAX_DEPTH, maxAliases: MAX_ALIASES };
  try {
    const value = load(text, options);
    requireSmall(value, { left: limit }, 0);
    return value;
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    const position = mark
      ? `line ${mark.line + 1}, column ${mark.column + 1}`
      : describePosition(text, text.length);
    throw new RequestError("bad_body", `The body is not YAML: ${reason} at ${position}`, {
      cause: error,
    });
  }
}

/** Counts what the JSON of the value would have at least, and stops beyond the limit. */
function requireSmall(value: unknown, size: { left: number }, depth: number): void {
  size.left -= typeof value === "string" ? value.length + 2 : 1;
  if (size.left < 0) throw refuse("is too large once its aliases are expanded");
  if (depth > MAX_DEPTH) throw refuse(`is nested deeper than ${MAX_DEPTH} levels`);
  if (typeof value === "number" && !Number.isFinite(value))
    throw refuse(`holds the number ${value}, which JSON cannot say`);
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    size.left -= name.length;
    requireSmall(member, size, depth + 1);
  }
}

function refuse(what: string): RequestError {
  return new RequestError("bad_body", `The body ${what}`);
}
