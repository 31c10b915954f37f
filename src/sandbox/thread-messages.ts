import type {
  Ending,
  FlowSpec,
  Inspection,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../runner/protocol.ts";
import type { Claims } from "./claims.ts";

/** What a thread is started with (Piscina's workerData). */
export interface ThreadData {
  readonly spec: FlowSpec;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders of the program's own: left out of stacks. */
  readonly hidden: readonly string[];
  readonly max_output_bytes: number;
  readonly max_input_bytes: number;
  readonly max_log_lines: number;
  /** The thread only imports the flow: restricted modules are noted instead of refused. */
  readonly inspecting: boolean;
  readonly claims: Claims;
}

/** Runs, one after the other, or an inspection. */
export type Task =
  | { readonly type: "run"; readonly jobs: readonly Job[] }
  | { readonly type: "inspect" };

/** What Piscina hands back. A failure does not come this way: its thread is not used again. */
export type TaskResult =
  | RunResult
  | { readonly type: "inspected"; readonly inspection: Inspection };

/** The last run of a task that has begun; those before it were told over the port. */
export interface RunResult {
  readonly type: "ended";
  readonly id: string;
  readonly ending: Ending;
  /** Log lines sent over the port, which it may have overtaken. */
  readonly lines: number;
  /** Mean time of the task's runs. */
  readonly mean_ms: number;
}

/** Thread to runner, over a port of their own. */
export type FromThread =
  | { readonly type: "log"; readonly id: string; readonly line: LogLine }
  | { readonly type: "operation"; readonly number: number; readonly request: OperationRequest }
  /** A run after which the thread goes on with the next of its task. */
  | { readonly type: "ran"; readonly id: string; readonly ending: Ending }
  /** The last act of a thread: it waits to be terminated. */
  | { readonly type: "ended"; readonly id: string; readonly ending: Ending };

/** Runner to thread, over the same port. */
export type ToThread =
  | { readonly type: "abort"; readonly id: string; readonly reason: string }
  | { readonly type: "answer"; readonly number: number; readonly answer: OperationAnswer };
