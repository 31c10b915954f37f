import { parseDigits } from "./json-exact.ts";
import { parseScalars } from "./parse-exactly.ts";

/**
 * JSON with each digit and each name as it is written, whatever was parsed before.
 *
 * @throws SyntaxError
 */
export function parseWhole(text: string): unknown {
  return parseScalars(text, parseDigits);
}
