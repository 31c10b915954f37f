/**
 * The author's contract: what `import { defineFlow, v } from "flowhook"` gives a flow.
 * This file is bundled alone for the sandbox, so it imports nothing but valibot.
 */
export * as v from "valibot";

/** Marks a definition that went through `defineFlow`, whichever copy of this file made it. */
const FLOW: unique symbol = Symbol.for("flowhook.flow");

/** What JSON can say. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue };

/** The user whose login token admitted the call. */
export interface Auth {
  readonly user_id: string;
  readonly user_name: string;
  readonly email: string | null;
  readonly roles: readonly string[];
}

/**
 * The request, as a flow without an input schema gets it (specification 4.3). It comes from
 * outside: `json` is `unknown` until a schema or the flow has looked at it.
 */
export interface InputValue {
  /** GET, DELETE, HEAD, POST, PUT or PATCH. */
  readonly method: string;
  /** Text after `/call/` as it was sent; null without it, `""` where the URL ends with `/call/`. */
  readonly path: string | null;
  /** Lower-case names; repeated headers joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded; of a repeated name the first value. */
  readonly query: Readonly<Record<string, string>>;
  /** The parsed body; absent where none was sent. */
  readonly json?: unknown;
  /** Present only where the webhook requires a login. */
  readonly auth?: Auth;
}

/** The execution that runs. */
export interface Execution {
  readonly id: string;
  /** Name of the webhook that was called; null when started without one. */
  readonly webhook: string | null;
  readonly flow: string;
  readonly is_productive: boolean;
  readonly project_id: string;
  /** Of the client whose call started it; null when started without one. */
  readonly address: string | null;
  /** What the call's signature showed; null without a right one. */
  readonly verified: Verified | null;
}

/** How an execution ended that was waited for. */
export interface ExecutionEnding {
  readonly id: string;
  readonly status: "ENDED_SUCCESS" | "ENDED_ERROR" | "ENDED_TIMEOUT" | "ENDED_CANCELLED";
  readonly status_message: string | null;
  readonly output_value: JsonValue;
}

/** A right signature of a call. */
export interface Verified {
  readonly scheme: string;
  /** Name of the secret that fits. */
  readonly secret: string;
  /** As they were sent, where they are signed. */
  readonly id: string | null;
  readonly timestamp: string | null;
}

/** Exactly this response goes to the caller (specification 4.7). */
export interface WebhookResponse {
  /** 200 to 599. */
  readonly status: number;
  /** Several cookies are a list of `set-cookie`. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | Headers;
  /** Text; bytes are the answer of a `fetch` handler. */
  readonly body?: string;
}

/** Lines of the execution's log; values that are no text are printed as the console would. */
export interface FlowLog {
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

/** `flow`: all that a flow is given. `Input` is what its input schema makes of the request. */
export interface FlowContext<Input = InputValue> {
  readonly input_value: Input;
  /** The body as it was sent, for signatures; absent without a body or where it carried the API key. */
  readonly raw_body?: string | undefined;
  readonly execution: Execution;
  /** Aborted at cancel and at the time limit; CANCEL_GRACE_SEC later the thread is ended. */
  readonly signal: AbortSignal;
  readonly log: FlowLog;
  /** The status message of the execution, cut at 4 KB; the last call counts. */
  set_status_message(text: string): void;
  /** Answers the synchronous caller with exactly this; of several calls the last counts. */
  webhook_response(response: WebhookResponse): void;
  /** Status 200 with this body as text/html. */
  webhook_html_response(body: string): void;
  /** Status 200 with this value as application/json. */
  webhook_json_response(body: unknown): void;
  /** Starts an execution of another flow and gives its id; needs `execution.start`. */
  start_execution(
    flow: string,
    input_value?: unknown,
    options?: { readonly wait?: false },
  ): Promise<string>;
  /** The same, and gives its ending once it has ended, however that went; not of its own flow. */
  start_execution(
    flow: string,
    input_value: unknown,
    options: { readonly wait: true },
  ): Promise<ExecutionEnding>;
  /** A setting's value, null where it is not set; needs `setting.read`. */
  setting(name: string): Promise<JsonValue>;
  /**
   * Sets a setting; needs `setting.write`. The last write counts: of two executions that read a count
   * and write it, one is lost, unless `max_concurrent: 1` of their webhook runs them one after the other.
   */
  set_setting(name: string, value: unknown): Promise<void>;
  /** A declared secret, null where it is not set; needs `secret.use`. */
  secret(name: string): Promise<string | null>;
}

/** What a flow asks for. Nothing that is not declared is granted, and no more than ALLOW_* allows. */
export interface Permissions {
  /** Use the network. */
  readonly net?: boolean;
  /** Files and folders that it reads: absolute, or relative to PLUGINS_DIR. */
  readonly read?: readonly string[];
  /** Files and folders that it writes: absolute, or relative to PLUGINS_DIR. */
  readonly write?: readonly string[];
  /** Names of the secrets that it may ask for. */
  readonly secrets?: readonly string[];
}

/** What `defineFlow` takes. */
export interface FlowDefinition<Schema extends StandardSchemaV1 = InputSchema> {
  /** One sentence for lists. */
  readonly description?: string;
  readonly permissions?: Permissions;
  /** Longest run in seconds: above 0, up to 3600 and the operator's FLOW_TIMEOUT_MAX_SEC. */
  readonly timeout_sec?: number;
  /** Heap of its threads in MB: 16 to 4096, at most four times the operator's FLOW_MEMORY_MB. */
  readonly memory_mb?: number;
  /**
   * Who may use a thread again: the flow's executions, one after the other, or none of them.
   * With `"execution"` each run has a fresh thread, which has imported nothing yet: what one leaves
   * in a module's variables no other can see, and each pays for a thread and the import.
   */
  readonly isolation?: "flow" | "execution";
  /**
   * Any Standard Schema (valibot, Zod, ArkType, ...). What it makes of the request is the
   * flow's `input_value`, with the members of the request beside it that an object schema does not
   * name; a request that it refuses ends the execution before `run`.
   */
  readonly input?: Schema;
  /** Any Standard Schema of what `run` returns: it describes the flow, and checks nothing. */
  readonly output?: StandardSchemaV1;
  /** What it returns is `output_value`; what it throws ends the execution ENDED_ERROR. */
  run(flow: FlowContext<InputValueOf<Schema>>): unknown;
}

/** A definition with its mark: what a flow file exports by default. */
export type DefinedFlow<Schema extends StandardSchemaV1 = InputSchema> = FlowDefinition<Schema> & {
  readonly [FLOW]: true;
};

/** Defines a flow: `export default defineFlow({ run(flow) { ... } })`. */
export function defineFlow<Schema extends StandardSchemaV1 = InputSchema>(
  definition: FlowDefinition<Schema>,
): DefinedFlow<Schema> {
  return Object.assign(definition, { [FLOW]: true } as const);
}

/** The interface of schema libraries that https://standardschema.dev describes, version 1. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The value that a schema made, or why it refused. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Stands for the schema of a flow that has none. */
export type InputSchema = StandardSchemaV1<unknown, InputValue>;

type TypesOf<Schema extends StandardSchemaV1> = NonNullable<Schema["~standard"]["types"]>;

type InputValueOf<Schema extends StandardSchemaV1> = Beside<
  TypesOf<Schema>["input"],
  TypesOf<Schema>["output"]
>;

/** What a schema makes, with the other members of the request where it is an object schema. */
type Beside<Input, Output> = Output extends readonly unknown[]
  ? Output
  : Output extends object
    ? [keyof Output] extends [keyof InputValue | keyof Input]
      ? [keyof Input] extends [keyof Output]
        ? Output & Omit<InputValue, keyof Output | "json">
        : Output
      : Output
    : Output;
