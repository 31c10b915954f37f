import { Refusal } from "../lib/errors.ts";
import { parseJson } from "./json.ts";
import { parseYaml } from "./yaml.ts";

/** The body of a request, parsed by its type (section 4.1; contract, section 4, number 3). */
export interface Payload {
  readonly text: string;
  readonly value: unknown;
  /** Whether `text` itself is the JSON of the value. */
  readonly is_json: boolean;
}

type PayloadType = "json" | "yaml" | "form";

/** The media type without parameters, in lower case; empty without one. */
export function mediaTypeOf(content_type: string | undefined): string {
  return (content_type ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

/**
 * @param limit bytes, MAX_BODY_BYTES: aliases of YAML cannot make the value larger
 * @throws Refusal unsupported_type, or bad_body naming line and column
 */
export function parsePayload(
  text: string,
  content_type: string | undefined,
  limit: number,
): Payload {
  const type = payloadTypeOf(mediaTypeOf(content_type));
  if (type === "json") return { text, value: parseJson(text), is_json: !text.startsWith("\uFEFF") };
  if (type === "yaml") return { text, value: parseYaml(text, limit), is_json: false };
  return { text, value: parseForm(text), is_json: false };
}

function payloadTypeOf(type: string): PayloadType {
  if (type === "application/json" || /^[\w.!#$&^-]+\/[\w.!#$&^-]+\+json$/.test(type)) return "json";
  if (["application/yaml", "application/x-yaml", "text/yaml"].includes(type)) return "yaml";
  if (type === "application/x-www-form-urlencoded") return "form";
  const found = type === "" ? "a body without Content-Type" : `Content-Type "${type}"`;
  throw new Refusal(
    "unsupported_type",
    `Found ${found}, expected application/json, application/yaml or ` +
      `application/x-www-form-urlencoded`,
  );
}

function parseForm(text: string): Record<string, string> {
  if (/^\s*[{[]/.test(text) && isJson(text))
    throw new Refusal(
      "unsupported_type",
      "The body is JSON but was sent as application/x-www-form-urlencoded. " +
        'Add the header: curl -H "Content-Type: application/json"',
    );
  return toPlain(new URLSearchParams(text));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Of a repeated name the first value; any name is only a name, `__proto__` too. */
export function toPlain(pairs: Iterable<[string, string]>): Record<string, string> {
  const plain = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairs) if (!(name in plain)) plain[name] = value;
  return plain;
}
