import type { Manifest } from "../manifest.ts";

/**
 * All that may cross the wall between the server and a runner: plain data, no functions,
 * no class instances. What came from a caller or from a flow crosses as text only.
 */

/** Which of a flow's declared permissions the operator's ALLOW_* let it have. */
export interface Grants {
  /** true: any host. */
  readonly net: boolean;
  /** Absolute paths of files or folders that it may read, beside its own version folder. */
  readonly read: readonly string[];
  /** Absolute paths of files or folders that it may write. */
  readonly write: readonly string[];
  /** Names of the secrets that it declared; the server hands out no others. */
  readonly secrets: readonly string[];
}

/** Who may use a thread again: the executions of one version, or not even they. */
export type Isolation = "flow" | "execution";

/** One loaded version of a flow: what a runner needs to know to give it threads of its own. */
export interface FlowSpec {
  /** `<flow>@<version>`: threads are never shared by two keys. */
  readonly key: string;
  readonly flow: string;
  /** Content hash that names the version folder. */
  readonly version: string;
  /** The immutable version folder: absolute, symlinks resolved. */
  readonly directory: string;
  /** Absolute path of the file in it that has the default export. */
  readonly entry: string;
  /** Its TypeScript files without their types, by URL; what is missing is left to the thread. */
  readonly stripped: Readonly<Record<string, string>>;
  /** PLUGINS_DIR: absolute, symlinks resolved; bare imports resolve as if from here. */
  readonly plugins_dir: string;
  readonly grants: Grants;
  /** Heap of one thread. */
  readonly memory_mb: number;
  readonly isolation: Isolation;
  /** Of a test: milliseconds since the epoch at which its clock stands. */
  readonly fake_time?: number;
  /** Of an author who looks at it: the port on loopback that a debugger attaches to. */
  readonly debug_port?: number;
  /** Members of the request that its input schema names; null where that is not known. */
  readonly input_members: readonly string[] | null;
}

/** One execution for a thread. */
export interface Job {
  /** The execution's id. */
  readonly id: string;
  /** JSON text of `flow.execution`: its id, webhook, flow, is_productive,
   * project_id, address and verified. */
  readonly execution: string;
  /** JSON text of input_value. */
  readonly input_value: string;
  /** Where in input_value the request's body stands as it was sent; null: see raw_body. */
  readonly raw_body_at: number | null;
  /** The body as it was sent, where input_value does not hold it; null without one. */
  readonly raw_body: string | null;
  /** Base of the URL that a `fetch` flow sees: BASE_URL or `http://flowhook`. */
  readonly base_url: string;
  /** The request's target as sent, without key and tokens, for the URL of a `fetch` flow; null without a call. */
  readonly target: string | null;
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly level: LogLevel;
  readonly text: string;
}

/**
 * How a run ended, as the thread or the runner saw it. Texts are JSON made in the thread.
 * A failure is a value; running a job never throws.
 */
export interface Ending {
  readonly status: "ENDED_SUCCESS" | "ENDED_ERROR";
  /** The status message: set by the flow, or why it failed; at most 4 KB. */
  readonly status_message: string | null;
  /** JSON text of output_value; null unless the flow returned. */
  readonly output_value: string | null;
  /** JSON text of the custom response {status, headers, body, body_encoding?}; null without one. Not validated. */
  readonly response: string | null;
}

/** An ending that no thread told. @param status_message why it failed */
export function failed(status_message: string): Ending {
  return { status: "ENDED_ERROR", status_message, output_value: null, response: null };
}

/** Longest JSON Schema of a flow, in bytes. */
export const MAX_SCHEMA_BYTES = 64 * 1024;

/** What importing a file in a thread without any grants told. */
export type Inspection =
  | { readonly kind: "flow"; readonly manifest: Manifest }
  /** No default export: a module that flows import. */
  | { readonly kind: "module" }
  | {
      readonly kind: "broken";
      /** One line for people. */
      readonly message: string;
      /** Stack with paths relative to the version folder, or null. */
      readonly stack: string | null;
      /** Its default export is none: a module, if flows import it. */
      readonly isNoFlow?: boolean;
    };

/** An operation of a flow that the server answers: start_execution, setting, set_setting, secret. */
export interface OperationRequest {
  /** The execution that asks. */
  readonly id: string;
  readonly operation: "start_execution" | "setting" | "set_setting" | "secret";
  /** Of the flow, setting or secret. */
  readonly name: string;
  /** JSON text of the input_value or the setting's value; null where none is given. */
  readonly value: string | null;
  /** Of start_execution: the answer is the execution's ending, and not its id. */
  readonly wait: boolean;
}

/** JSON text of the value, or the message of the error that the flow sees thrown. */
export type OperationAnswer =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string };

/** Keys of the configuration that threads hold themselves to. */
export interface ThreadLimits {
  /** Of a result and of a response's body: MAX_OUTPUT_BYTES. */
  readonly max_output_bytes: number;
  /** Of a child's input_value: MAX_BODY_BYTES. */
  readonly max_input_bytes: number;
  readonly max_log_lines: number;
}

/** What a runner must know before its first run; its environment and arguments are empty. */
export interface RunnerSetup {
  /** Absolute path of the thread entry. */
  readonly thread: string;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders that every thread can read. */
  readonly readable: readonly string[];
  readonly limits: ThreadLimits;
  /** Longest import of a flow by an inspection. */
  readonly inspect_ms: number;
  /** Whether HTTPS connections of flows believe the system's authorities: threads do not inherit it. */
  readonly use_system_ca: boolean;
}

/** Where a thread connects to the server, to a line of its own. */
export interface LineAddress {
  /** Of a Unix socket, or the name of a pipe. */
  readonly path: string;
  /** Its first bytes on the line, and the first of each of its frames. */
  readonly token: string;
  /** In hexadecimal: what the server's side of the line is sealed with. */
  readonly seal: string;
}

/**
 * Server to runner. Several travel in one array, once per turn of the event loop. Threads are
 * known by numbers that the server gives.
 */
export type ToRunner =
  /** The first message; the token begins each frame of the runner. */
  | { readonly type: "setup"; readonly setup: RunnerSetup; readonly token: string }
  | { readonly type: "inspect"; readonly number: number; readonly spec: FlowSpec }
  /** Starts a thread. */
  | {
      readonly type: "start";
      readonly thread: number;
      readonly spec: FlowSpec;
      readonly line: LineAddress | null;
    }
  /**
   * What has not begun is not to begin; "recalled" answers. Where a number is given, only if no more
   * have begun: then the thread is ended too, and otherwise nothing happens.
   */
  | { readonly type: "recall"; readonly thread: number; readonly begun: number | null }
  /** For a thread without a line of its own. @see thread-messages.ts */
  | {
      readonly type: "forward";
      readonly thread: number;
      readonly text: string;
      /** How many runs it gives to the thread, and after how many recalls. */
      readonly runs: number;
      readonly round: number;
    }
  /** Ends a thread; "recalled" and "exited" answer. */
  | { readonly type: "end"; readonly thread: number };

/** Runner to server. */
export type FromRunner =
  /** It takes runs from now on. */
  | { readonly type: "ready" }
  /** It cannot give what the sandbox promises and takes no runs. */
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "inspected"; readonly number: number; readonly inspection: Inspection }
  /** A thread that imported a flow does not end: a native call holds it, and a core. */
  | { readonly type: "stuck" }
  | {
      readonly type: "heartbeat";
      readonly rss_bytes: number;
      /** How long the latest short native call has waited for its turn. */
      readonly native_wait_ms: number;
      /** Hundredths of a core that native calls keep busy. */
      readonly native_load: number;
      /** Threads whose event loop has had no rest for two seconds, whether they have a run or not. */
      readonly restless: readonly number[];
    }
  | OfThread;

/** What a runner tells of a thread. */
export type OfThread =
  /** It takes runs from now on; of a thread without a line of its own. */
  | { readonly type: "started"; readonly thread: number }
  /** What such a thread says. @see thread-messages.ts */
  | { readonly type: "told"; readonly thread: number; readonly text: string }
  /** How many of the runs given since the last recall have begun; no other of them will. */
  | { readonly type: "recalled"; readonly thread: number; readonly begun: number }
  /** It is gone. @see recalled */
  | {
      readonly type: "exited";
      readonly thread: number;
      readonly begun: number;
      /** Why, where nobody had ended it. */
      readonly message: string;
    };

/** Longest status message and longest log line, in bytes of UTF-8. */
export const MAX_TEXT = 4096;
/** Longest name that an operation asks for, in characters: longer ones name nothing. */
export const MAX_NAME = 1024;
/** Largest value of a setting, as JSON (contract, section 7, number 1). */
export const MAX_SETTING_BYTES = 64 * 1024;
/** Values of operations that wait for their answer: what a thread may ask beside the latest. */
export const MAX_WAITING_BYTES = 16 * 2 ** 20;
/** Deepest nesting of an output_value or a JSON response (contract, section 7, number 11). */
export const MAX_DEPTH = 1000;
/** The last time that a date can say, in milliseconds since the epoch (ECMA-262, section 21.4.1.1). */
const MAX_TIME = 8_640_000_000_000_000;

/**
 * Longest custom response as JSON, in characters. Control characters take six each: a body of them
 * alone is not worth the time of all who wait while it is read.
 */
export function toLongestResponse(max_output_bytes: number): number {
  return max_output_bytes * 2 + 64 * 1024;
}

const LEVELS = new Set<unknown>(["debug", "info", "warn", "error"] satisfies LogLevel[]);
const OPERATIONS = new Set<unknown>([
  "start_execution",
  "setting",
  "set_setting",
  "secret",
] satisfies OperationRequest["operation"][]);

export function isLine(value: unknown): value is LogLine {
  if (!isRecord(value)) return false;
  const { at, level, text } = value;
  return isTime(at) && LEVELS.has(level) && isText(text, MAX_TEXT);
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TIME;
}

export function isEnding(value: unknown): value is Ending {
  if (!isRecord(value)) return false;
  const { status, status_message, output_value, response } = value;
  return (
    (status === "ENDED_SUCCESS" || status === "ENDED_ERROR") &&
    (status_message === null || isText(status_message, MAX_TEXT)) &&
    (output_value === null || isText(output_value)) &&
    (response === null || isText(response))
  );
}

export function isRequest(value: unknown): value is OperationRequest {
  if (!isRecord(value)) return false;
  const { id, operation, name, value: given, wait } = value;
  return (
    isText(id) &&
    OPERATIONS.has(operation) &&
    isText(name, MAX_NAME) &&
    (given === null || isText(given)) &&
    typeof wait === "boolean"
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function isText(value: unknown, most = Infinity): value is string {
  return typeof value === "string" && value.length <= most;
}
