import type { LogLine } from "../../shared/wire/protocol.ts";
import type { ActiveExecution } from "./active.ts";
import type { Outcome } from "./outcome.ts";

/** Whoever looks on in the server's own process, and changes nothing: `flowhook dev`. */
export interface Onlooker {
  /** A flow wrote lines of its log. */
  logged(execution: ActiveExecution, lines: readonly LogLine[]): void;
  /** An ending is on disk. */
  ended(execution: ActiveExecution, outcome: Outcome): void;
}
