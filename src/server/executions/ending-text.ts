import type { Outcome } from "./outcome.ts";

/** JSON of an ending for a flow that waited for it; output_value is JSON already. */
export function toEndingText({ id, status, status_message, output_value }: Outcome): string {
  const head = JSON.stringify({ id, status, status_message });
  return `${head.slice(0, -1)},"output_value":${output_value ?? "null"}}`;
}
