import { CORE_SCHEMA, load, YAMLException } from "js-yaml";
import { RequestError } from "../../shared/errors.ts";
import { describePosition, MAX_DEPTH } from "../request/position.ts";

/** Aliases in one document; js-yaml alone leaves them unlimited. */
const MAX_ALIASES = 100;

/** The parser counts what stands in the innermost list or object as well: levels are counted exactly later. */
const PARSER_DEPTH = MAX_DEPTH + 2;

/**
 * Parses a body as YAML 1.2: the core schema, one document, no custom tags.
 *
 * @param limit bytes that the value may have with its aliases expanded
 * @throws RequestError bad_body, of what cannot be parsed with line and column
 */
export function parseYaml(text: string, limit: number): unknown {
  const options = { schema: CORE_SCHEMA, maxDepth: PARSER_DEPTH, maxAliases: MAX_ALIASES };
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
    const isDeep = reason.startsWith("nesting exceeded");
    const what = isDeep ? TOO_DEEP : `is not YAML: ${reason}`;
    throw new RequestError("bad_body", `The body ${what} at ${position}`, { cause: error });
  }
}

const TOO_DEEP = `is nested deeper than ${MAX_DEPTH} levels`;

/** Counts what the JSON of the value would have at least, and stops beyond the limit. */
function requireSmall(value: unknown, size: { left: number }, depth: number): void {
  size.left -= typeof value === "string" ? value.length + 2 : 1;
  if (size.left < 0) throw refuse("is too large once its aliases are expanded");
  if (typeof value === "number" && !Number.isFinite(value))
    throw refuse(`holds the number ${value}, which JSON cannot say`);
  if (typeof value !== "object" || value === null) return;
  if (depth === MAX_DEPTH) throw refuse(TOO_DEEP);
  for (const [name, member] of Object.entries(value)) {
    size.left -= name.length;
    requireSmall(member, size, depth + 1);
  }
}

function refuse(what: string): RequestError {
  return new RequestError("bad_body", `The body ${what}`);
}
