import type {
  Ending,
  FlowSpec,
  Inspection,
  Job,
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
  /** The thread only imports the flow: restricted modules are noted instead of refused. */
  readonly inspecting: boolean;
  readonly claims: Claims;
}

/** What Piscina hands to a thread: it serves until it ends, or inspects its flow. */
export type Task = { readonly type: "serve" } | { readonly type: "inspect" };

/** What Piscina hands back; nothing where the thread serves. */
export interface TaskResult {
  readonly type: "inspected";
  readonly inspection: Inspection;
}

/** Thread to runner, over a port of their own. */
export type FromThread =
  | { readonly type: "log"; readonly id: string; readonly line: LogLine }
  | { readonly type: "operation"; readonly number: number; readonly request: OperationRequest }
  | {
      readonly type: "ended";
      readonly id: string;
      readonly ending: Ending;
      readonly ms: number;
      /** The last act of a thread: it waits to be terminated. */
      readonly is_last: boolean;
    };

/** Runner to thread, over the same port. */
export type ToThread =
  /** Runs, one after the other, unless they are taken back. */
  | { readonly type: "run"; readonly round: number; readonly jobs: readonly Job[] }
  | { readonly type: "abort"; readonly id: string; readonly reason: string }
  | { readonly type: "answer"; readonly number: number; readonly answer: OperationAnswer };
