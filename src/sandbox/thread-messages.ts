import type {
  Ending,
  FlowSpec,
  Inspection,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
} from "../runner/protocol.ts";

/** What a thread is started with (Piscina's workerData). */
export interface ThreadData {
  readonly spec: FlowSpec;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders of the program's own: left out of stacks. */
  readonly hidden: readonly string[];
  readonly max_output_bytes: number;
  readonly max_log_lines: number;
  /** The thread only imports the flow: restricted modules are noted instead of refused. */
  readonly inspecting: boolean;
}

export type Task = { readonly type: "run"; readonly job: Job } | { readonly type: "inspect" };

/** What Piscina hands back. A failure does not come this way: its thread is not used again. */
export type TaskResult =
  | { readonly type: "ended"; readonly ending: Ending; readonly lines: number }
  | { readonly type: "inspected"; readonly inspection: Inspection };

/** Thread to runner, over a port of their own. */
export type FromThread =
  | { readonly type: "log"; readonly id: string; readonly line: LogLine }
  | { readonly type: "operation"; readonly number: number; readonly request: OperationRequest }
  /** The last act of a thread: it waits to be terminated. */
  | { readonly type: "ended"; readonly id: string; readonly ending: Ending };

/** Runner to thread, over the same port. */
export type ToThread =
  | { readonly type: "abort"; readonly id: string; readonly reason: string }
  | { readonly type: "answer"; readonly number: number; readonly answer: OperationAnswer };
