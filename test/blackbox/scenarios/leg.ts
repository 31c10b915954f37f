import { resolveLocation, send, type Answer } from "../client.ts";
import { callTarget } from "../scenario.ts";
import type { Service } from "../service.ts";

/** One request to a webhook; redirects are not followed. */
export function call(
  service: Service,
  webhook: string,
  path = "",
  more: object = {},
): Promise<Answer> {
  return send(service.origin, { target: callTarget(service, webhook, path), ...more });
}

/** Where a redirect leads, as a client reads it. */
export function nextUrl(service: Service, answer: Answer): URL {
  return resolveLocation(service.origin, answer.target, answer.headers["location"] ?? "(none)");
}

export function waitId(service: Service, answer: Answer): string {
  return nextUrl(service, answer).searchParams.get("__wait_execution_id") ?? "";
}
