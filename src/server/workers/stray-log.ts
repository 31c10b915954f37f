import { findPlace } from "../../shared/error-place.ts";
import { toLogText, type Log } from "../../shared/log.ts";
import type { FlowSpec } from "../../shared/wire/protocol.ts";

export const STRAY = "Code that a run left behind failed after its end: await it";

export const HELD = "What runs left behind kept a thread busy, which was ended: await all of it";

export interface Stray {
  /** Whose code it was; null: not known. */
  readonly execution: string | null;
  /** The error with its stack, as the flow's thread tells it. */
  readonly text: string;
}

/** The execution has ended as it was recorded: its failure stands nowhere else. */
export function logStray(
  { log, hasMessages }: { readonly log: Log; readonly hasMessages: boolean },
  { flow, version }: FlowSpec,
  { execution, text }: Stray,
): void {
  const [error = ""] = text.split("\n", 1);
  const place = findPlace([{ level: "error", text }]);
  const words = { error: toLogText(error), ...(place !== null && { place: toLogText(place) }) };
  log.warn(
    { flow, version, ...(execution !== null && { execution }), ...(hasMessages && words) },
    STRAY,
  );
}
