import { isOfCors } from "../executions/cross-origin.ts";
import { checkHeaders, OF_SERVICE } from "../executions/custom-response.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { invalid } from "./named.ts";

/** Headers that a webhook adds to answers, beside its other members. */

/** @throws RequestError invalid naming the header that a webhook cannot add */
export function requireResponseHeaders(
  { cors, response_headers }: Pick<WebhookRow, "cors" | "response_headers">,
  isSandboxed: boolean,
  path = "response_headers",
): void {
  if (response_headers === null) return;
  const headers = JSON.parse(response_headers) as Record<string, string>;
  const names = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const error = names.has(lower) ? "is there twice" : findError(name, value, isSandboxed);
    if (error !== null) throw invalid(`${path}.${name}`, error);
    if (cors !== null && isOfCors(lower)) throw invalid(`${path}.${name}`, 'is what "cors" says');
    names.add(lower);
  }
  const all = checkHeaders(headers, isSandboxed);
  if ("error" in all) throw invalid(path, all.error);
}

/** As of a flow's response (contract, section 4, number 11); what is left out there is refused. */
function findError(name: string, value: string, isSandboxed: boolean): string | null {
  if (OF_SERVICE.includes(name.toLowerCase())) return "is set by the service";
  const checked = checkHeaders({ [name]: value }, isSandboxed);
  if ("error" in checked) return checked.error;
  return checked.warnings.length === 0 ? null : "cannot be set by a webhook";
}
