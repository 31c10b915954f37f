import { RequestError } from "../../shared/errors.ts";

/** The request's target, read as it was sent: URL parsers would resolve dot segments first. */
export interface CallTarget {
  /** Name of the webhook, as sent. */
  readonly name: string;
  /** Text after `/call/`; null without the slash (section 4.3). */
  readonly path: string | null;
  /** The last segment of the target's path, as sent. */
  readonly lastSegment: string;
  /** Text after `?`, as sent; empty without one. */
  readonly query: string;
}

const CALL = /^\/api\/latest\/webhook\/([^/?]+)\/call(?:\/([^?#]*))?(?:\?([^#]*))?$/s;

/**
 * @param raw the target without the service's own prefix
 * @returns null where it is none of the call endpoint
 */
export function readTarget(raw: string): CallTarget | null {
  const match = CALL.exec(raw);
  if (match === null) return null;
  const [, name = "", path, query = ""] = match;
  return {
    name,
    path: path ?? null,
    lastSegment: path === undefined ? "call" : path.slice(path.lastIndexOf("/") + 1),
    query,
  };
}

/** Letters that mean themselves. */
const PLAIN = /^[\w.-]*$/;

/**
 * The name of a webhook, decoded, in NFC.
 *
 * @throws RequestError bad_target where it cannot be decoded
 */
export function decodeName(text: string): string {
  if (PLAIN.test(text)) return text;
  try {
    return decodeURIComponent(text).normalize("NFC");
  } catch {
    throw new RequestError(
      "bad_target",
      `The webhook's name "${text}" is not valid percent-encoding`,
    );
  }
}

/** The parameters that the service reads itself (section 4.1). */
export const ASYNC = "async";
export const KEY = "key";
export const WAIT = "__wait_execution_id";

/** The query as sent, without the pairs of some names. */
export function withoutParameters(query: string, names: readonly string[]): string {
  if (query === "") return query;
  return query
    .split("&")
    .filter((pair) => pair !== "" && !names.includes(nameOf(pair)))
    .join("&");
}

function nameOf(pair: string): string {
  return new URLSearchParams(pair).keys().next().value ?? "";
}
