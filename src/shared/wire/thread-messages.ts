import type {
  Ending,
  FlowSpec,
  Inspection,
  Job,
  LineAddress,
  LogLine,
  OperationAnswer,
  OperationRequest,
  ThreadLimits,
} from "./protocol.ts";
import type { Claims } from "./claims.ts";

/** What a thread is started with (Piscina's workerData). */
export interface ThreadData {
  readonly spec: FlowSpec;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders of the program's own: left out of stacks. */
  readonly hidden: readonly string[];
  readonly limits: ThreadLimits;
  /**
   * null: it runs the flow. Otherwise it only imports it, and packages are not given this; what else
   * needs a permission is noted instead of refused.
   */
  readonly withheld: Withheld | null;
  readonly claims: Claims;
  /** null: what it says goes by way of its runner. */
  readonly line: LineAddress | null;
}

/** Modules of the runtime by what a flow must be granted for them. */
export interface Withheld {
  readonly files: boolean;
  readonly net: boolean;
}

/** What Piscina hands back of a thread that only imports its flow. */
export interface Imported {
  readonly inspection: Inspection;
  /** Packages were given it, and will not be when the flow runs. */
  readonly lacking: Withheld;
}

/**
 * Messages between server and thread travel as text: a head in JSON on the first line, and behind
 * it the long texts, whose lengths the head tells, so that JSON is not written as a text within
 * JSON. Lengths count UTF-16 units. The heads:
 *
 *     ["run", round, (id, execution, input_value, raw_body, raw_body_at, base_url, target) of each]
 *     ["abort", id, reason]
 *     ["answer", number, ok]
 *     ["ended", id, status, status_message, ms, condition, output_value, response]
 *     ["log", id, at, level]
 *     ["stray", id]
 *     ["operation", number, id, operation, name, wait, value]
 *
 * where `execution`, `input_value`, `raw_body`, `output_value`, `response` and `value` are lengths;
 * all that follows the head of an answer is its value or message, of a log its line, and of a stray
 * its error.
 */

/** The length that stands for null. */
export const NO_TEXT = -1;

/** Thread to server. */
export type FromThread =
  | { readonly type: "log"; readonly id: string; readonly line: LogLine }
  /** Code that an execution left behind failed after its end; told once by a thread. */
  | { readonly type: "stray"; readonly id: string; readonly text: string }
  | { readonly type: "operation"; readonly number: number; readonly request: OperationRequest }
  | {
      readonly type: "ended";
      readonly id: string;
      readonly ending: Ending;
      readonly ms: number;
      readonly condition: Condition;
    };

/** As which a run leaves its thread. */
export const CONDITIONS = [
  /** As it was before. */
  "sound",
  /**
   * It failed or was aborted, or code that was left behind has failed: what the flow keeps from run to run
   * may be why.
   */
  "doubtful",
  /** It was the last: the thread waits to be terminated. */
  "spoilt",
] as const;
export type Condition = (typeof CONDITIONS)[number];

/** Server to thread. */
export type ToThread =
  /** Runs, one after the other, unless they are taken back. */
  | { readonly type: "run"; readonly round: number; readonly jobs: readonly Job[] }
  | { readonly type: "abort"; readonly id: string; readonly reason: string }
  | { readonly type: "answer"; readonly number: number; readonly answer: OperationAnswer };
