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
  /** `<flow>@<version>`: there is one pool of threads per key. */
  readonly key: string;
  readonly flow: string;
  /** Content hash that names the version folder. */
  readonly version: string;
  /** The immutable version folder: absolute, symlinks resolved. */
  readonly directory: string;
  /** Absolute path of the file in it that has the default export. */
  readonly entry: string;
  /** PLUGINS_DIR: absolute, symlinks resolved; bare imports resolve as if from here. */
  readonly plugins_dir: string;
  readonly grants: Grants;
  /** Heap of one thread. */
  readonly memory_mb: number;
  readonly isolation: Isolation;
}

/** One execution for a thread. */
export interface Job {
  /** The execution's id. */
  readonly id: string;
  /** JSON text of `flow.execution`: {id, webhook, flow, is_productive, project_id}. */
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
  /** The status message: set by the flow, or why it failed; at most 4096 characters. */
  readonly status_message: string | null;
  /** JSON text of output_value; null unless the flow returned. */
  readonly output_value: string | null;
  /** JSON text of the custom response {status, headers, body, body_encoding?}; null without one. Not validated. */
  readonly response: string | null;
  /** Set when the thread was ended by `abort` (the server decided the status before). */
  readonly aborted: boolean;
}

/** An ending that no thread told. @param status_message why it failed */
export function failed(status_message: string): Ending {
  return {
    status: "ENDED_ERROR",
    status_message,
    output_value: null,
    response: null,
    aborted: false,
  };
}

/** What a flow declares; see flows/author.ts for the meaning of each. */
export interface Manifest {
  readonly form: "defined" | "function" | "fetch";
  readonly description: string | null;
  readonly permissions: {
    readonly net: boolean;
    readonly read: readonly string[];
    readonly write: readonly string[];
    readonly secrets: readonly string[];
  };
  readonly timeout_sec: number | null;
  readonly memory_mb: number | null;
  readonly isolation: Isolation;
  readonly has_input_schema: boolean;
}

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
}

/** JSON text of the value, or the message of the error that the flow sees thrown. */
export type OperationAnswer =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly message: string };

/** What a runner must know before its first run; its environment and arguments are empty. */
export interface RunnerSetup {
  /** Absolute path of the thread entry. */
  readonly thread: string;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders that every thread can read. */
  readonly readable: readonly string[];
  /** Threads of one version at most. */
  readonly flow_threads: number;
  readonly warm_threads: number;
  /** Milliseconds between the abort signal and the termination of the thread. */
  readonly cancel_grace_ms: number;
  readonly max_output_bytes: number;
  /** Largest input_value that a flow may give to a child: MAX_BODY_BYTES. */
  readonly max_input_bytes: number;
  readonly max_log_lines: number;
  /** Longest import of a flow by an inspection. */
  readonly inspect_ms: number;
}

/** Server to runner. Several travel in one array, once per turn of the event loop. */
export type ToRunner =
  /** The first message; the token begins each frame of the runner. */
  | { readonly type: "setup"; readonly setup: RunnerSetup; readonly token: string }
  | { readonly type: "spec"; readonly spec: FlowSpec }
  /** One that is ahead waits for a thread, and comes back where none is free soon. */
  | { readonly type: "run"; readonly key: string; readonly job: Job; readonly is_ahead: boolean }
  | { readonly type: "abort"; readonly key: string; readonly id: string; readonly reason: string }
  | { readonly type: "retire"; readonly key: string }
  | { readonly type: "inspect"; readonly number: number; readonly spec: FlowSpec }
  | { readonly type: "answer"; readonly number: number; readonly answer: OperationAnswer };

/** Runner to server. Several travel in one array, once per turn of the event loop. */
export type FromRunner =
  | { readonly type: "ready" }
  /** It cannot give what the sandbox promises and takes no runs. */
  | { readonly type: "refused"; readonly message: string }
  | { readonly type: "ended"; readonly id: string; readonly ending: Ending }
  /** It was ahead, and no thread has become free for it: it has not begun. */
  | { readonly type: "returned"; readonly id: string }
  | { readonly type: "log"; readonly id: string; readonly lines: readonly LogLine[] }
  | { readonly type: "operation"; readonly number: number; readonly request: OperationRequest }
  | { readonly type: "inspected"; readonly number: number; readonly inspection: Inspection }
  | {
      readonly type: "beat";
      readonly rss_bytes: number;
      readonly threads: number;
      /** How long the latest short native call has waited for its turn. */
      readonly native_wait_ms: number;
    }
  /** A thread of this version has not ended though it was terminated. */
  | { readonly type: "stuck"; readonly key: string };

/** Longest status message and longest log line, in characters. */
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
  const { status, status_message, output_value, response, aborted } = value;
  return (
    (status === "ENDED_SUCCESS" || status === "ENDED_ERROR") &&
    (status_message === null || isText(status_message, MAX_TEXT)) &&
    (output_value === null || isText(output_value)) &&
    (response === null || isText(response)) &&
    typeof aborted === "boolean"
  );
}

export function isRequest(value: unknown): value is OperationRequest {
  if (!isRecord(value)) return false;
  const { id, operation, name, value: given } = value;
  return (
    isText(id) &&
    OPERATIONS.has(operation) &&
    isText(name, MAX_NAME) &&
    (given === null || isText(given))
  );
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function isText(value: unknown, most = Infinity): value is string {
  return typeof value === "string" && value.length <= most;
}
