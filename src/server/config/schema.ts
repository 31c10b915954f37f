import * as v from "valibot";
import {
  boolean,
  choice,
  isAddressRange,
  isBaseUrl,
  isDatabaseUrl,
  isDataKey,
  isHost,
  list,
  orAuto,
  orNull,
  path,
  seconds,
  text,
  whole,
  type KeyFacts,
  type Kind,
} from "./kinds.ts";

/** Longest wait that a timer of the runtime can hold is 2^31 - 1 ms; a week is well below. */
const WEEK_SEC = 604_800;
const YEAR_SEC = 31_536_000;
const GIB = 1_073_741_824;

/**
 * The single source of the configuration: keys, types, units, defaults, and the words of the
 * documentation (contract, section 1).
 */
export const CONFIG_SCHEMA = v.strictObject({
  LISTEN_HOST: key(
    text("a host name or an address, without a port", isHost),
    "127.0.0.1",
    "Where the server listens.",
  ),
  LISTEN_PORT: key(
    whole(0, 65_535),
    8080,
    "The port it listens on; 0 picks a free one and prints it.",
  ),
  BASE_URL: key(
    orNull(text("an http or https URL without query, fragment and user", isBaseUrl)),
    null,
    "The {base_url} shown in the URL preview of a webhook; may carry a path prefix, which the " +
      "service then serves under.",
    "derived from the request",
  ),
  TRUSTED_PROXIES: key(
    list(text("an address or a CIDR range", isAddressRange), "addresses or CIDR ranges"),
    [],
    "Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.",
  ),
  TLS_CERT_FILE: key(
    orNull(path("file")),
    null,
    "Certificate chain (PEM, the own one first): serve HTTPS; read again when the file changes.",
    "unset",
  ),
  TLS_KEY_FILE: key(
    orNull(path("file")),
    null,
    "Private key (PEM) of the certificate; both or neither are set.",
    "unset",
  ),
  DATA_DIR: key(path("folder"), "./data", "Database, unpacked runtime files, flow versions."),
  DATABASE_URL: key(
    orNull(text("`sqlite:PATH` or `postgres://USER@HOST/NAME`", isDatabaseUrl)),
    null,
    "The store: a file, or a database of PostgreSQL 15 or later. Who opens it is shown nowhere.",
    "`sqlite:DATA_DIR/flowhook.db`",
  ),
  DATABASE_CONNECTIONS: key(
    whole(6, 100),
    8,
    "Connections to PostgreSQL at most: four to write, the rest to read. SQLite has none.",
  ),
  DATA_KEY: key(
    orNull(text("64 hexadecimal digits", isDataKey)),
    null,
    "Encrypts secrets and signs waiting legs; the same on all nodes of a database. Shown nowhere: " +
      "give it with FLOWHOOK_DATA_KEY_FILE. It wins over the file, and is never written to it.",
    "that of `DATA_DIR/secret.key`, which a first start makes",
  ),
  NODE_NAME: key(
    orNull(text("1 to 100 characters without blanks", (value) => /^\S{1,100}$/.test(value))),
    null,
    "What this service is called among those that share a database of PostgreSQL.",
    "the host's name",
  ),
  NODE_LEASE_SEC: key(
    seconds(3, 300),
    15,
    "A service that shares a database and says nothing for so long is given up by the others.",
  ),
  DURABILITY: key(
    choice("full", "normal"),
    "full",
    "`full`: a commit survives power loss; `normal`: it survives a crash of the process.",
  ),
  PLUGINS_DIR: key(path("folder"), "./plugins", "Where flows are dropped in."),
  FLOWS_SHARED: key(
    boolean(),
    true,
    "Whether flows that this folder lacks are borrowed from the folders of other services on the " +
      "same PostgreSQL. What this folder has is offered to them in any case.",
  ),
  WAIT_POLL_WINDOW_SEC: key(seconds(0.05, 3600), 20, "Longest wait of one leg."),
  WEBHOOK_CANCEL_ENABLED: key(
    boolean(),
    true,
    "Cancel the execution when its synchronous call is cancelled.",
  ),
  SYNC_MODE: key(
    choice("redirect", "hold"),
    "redirect",
    "`redirect`: 303, then 302 legs; `hold`: one long-held request. A webhook can have its own " +
      "`sync_mode`.",
  ),
  RESPONSE_MATRIX: key(
    choice("current", "earlier"),
    "current",
    "`earlier`: answers as in the releases before the redirect legs (held requests).",
  ),
  EXECUTION_PERMISSIONS: key(
    choice("role", "creator"),
    "role",
    "What an execution may do. `role`: what the webhook's role may, if it propagates; `creator`: " +
      "what the user who created the webhook may.",
  ),
  LOGIN_REDIRECT: key(
    boolean(),
    true,
    "A request that accepts text/html and has no valid session is redirected to the login " +
      "screen, whatever its method; `false`: always 401.",
  ),
  DEVELOPMENT_INACTIVITY_SEC: key(
    seconds(0, YEAR_SEC),
    600,
    "How long after the last activity of a user a development webhook still answers (else 402).",
  ),
  CONNECTION_ALLOWANCE: key(
    orNull(whole(0, Number.MAX_SAFE_INTEGER)),
    null,
    "Calls to productive webhooks per calendar month (UTC); of all nodes together.",
    "`null` (unlimited)",
  ),
  WORKER_THREADS: key(
    orAuto(whole(1, 4096)),
    "auto",
    "Executions that run at the same time. One that waits for another lets that run in its place " +
      "where there is no other.",
    "`auto` (4 x cores, at least 4)",
  ),
  FLOW_MAX_CONCURRENT: key(
    orAuto(whole(1, 4096)),
    "auto",
    "Executions of one flow at the same time; waiting flows take turns, and the last free thread " +
      "is kept for a flow that has none, so that one cannot starve the others. Those that wait for " +
      "another do not count where the next is waited for itself.",
    "`auto` (half of WORKER_THREADS)",
  ),
  WARM_THREADS: key(
    orAuto(whole(1, 8192)),
    "auto",
    "Threads kept, busy and idle; idle ones are let go, least recently used first.",
    "`auto` (2 x WORKER_THREADS)",
  ),
  MAX_QUEUED_EXECUTIONS: key(
    whole(0, 10_000_000),
    10_000,
    "Executions recorded and waiting for a thread, half of them of one flow at most; beyond it a " +
      "call that would have to wait is refused (503).",
  ),
  MAX_CHILD_DEPTH: key(
    whole(0, 1000),
    16,
    "Executions above one that was started by a flow: its parent, that one's parent, and so on.",
  ),
  MAX_CHILDREN: key(whole(0, 1_000_000), 1000, "Executions that one execution may start."),
  FLOW_TIMEOUT_SEC: key(
    seconds(0.05, WEEK_SEC),
    300,
    "Longest run of one execution; a flow may declare less, or more up to FLOW_TIMEOUT_MAX_SEC.",
  ),
  FLOW_TIMEOUT_MAX_SEC: key(
    seconds(0.05, WEEK_SEC),
    3600,
    "The most that a flow may declare as its time limit.",
  ),
  FLOW_MEMORY_MB: key(whole(16, 65_536, "MB"), 128, "Heap of one worker thread."),
  RUNNER_MEMORY_MB: key(
    orAuto(whole(128, 4_194_304, "MB")),
    "auto",
    "Resident memory of one runner process, above which it is replaced.",
    "`auto` (WORKER_THREADS x FLOW_MEMORY_MB + 512)",
  ),
  CANCEL_GRACE_SEC: key(
    seconds(0, 3600),
    2,
    "Between the abort signal and the termination of the thread.",
  ),
  ALLOW_NET: key(boolean(), true, "Whether a flow that declares it may use the network."),
  ALLOW_READ: key(
    list(path("folder"), "paths"),
    [],
    "Files and folders that flows which declare them may read.",
  ),
  ALLOW_WRITE: key(
    list(path("folder"), "paths"),
    [],
    "Files and folders that flows which declare them may write; none of the service's own.",
  ),
  MAX_BODY_BYTES: key(whole(0, GIB, "bytes"), 10_485_760, "Longest request body."),
  MAX_OUTPUT_BYTES: key(
    whole(1, GIB, "bytes"),
    10_485_760,
    "Longest output_value or custom response body.",
  ),
  MAX_LOG_LINES: key(whole(0, 1_000_000), 1000, "Log lines kept for one execution."),
  RETENTION_DAYS: key(
    orNull(whole(0, 36_500, "days")),
    30,
    "Ended executions older than this are deleted, oldest first, in small batches; one whose idempotency key or signature is still known, once it is not.",
  ),
  RETENTION_MAX_EXECUTIONS: key(
    orNull(whole(0, Number.MAX_SAFE_INTEGER)),
    null,
    "Ended executions beyond this number are deleted.",
    "`null` (unlimited)",
  ),
  RETENTION_MAX_BYTES: key(
    orNull(whole(0, Number.MAX_SAFE_INTEGER, "bytes")),
    null,
    "Ended executions are deleted while the store is larger than this.",
    "`null` (unlimited)",
  ),
  RESPONSE_SANDBOX: key(
    boolean(),
    true,
    "Pages made by flows get an origin of their own (`Content-Security-Policy: sandbox`); " +
      "`false` where the UI has an origin of its own.",
  ),
  LOGIN_TOKEN_TTL_SEC: key(seconds(1, 10 * YEAR_SEC), 2_592_000, "Life of a login token."),
  SHUTDOWN_DELAY_SEC: key(
    orAuto(seconds(0, 3600)),
    "auto",
    "Calls are taken for so long after SIGTERM or Ctrl-C, while `/health/ready` says 503: a balancer " +
      "that looks sends them elsewhere before they are refused.",
    "`auto` (3 with PostgreSQL, else 0)",
  ),
  SHUTDOWN_GRACE_SEC: key(seconds(0, 86_400), 30, "Time that running executions get after that."),
  LOG_LEVEL: key(
    choice("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    "info",
    "The least severe entries that are logged.",
  ),
  LOG_FORMAT: key(
    choice("auto", "json", "pretty"),
    "auto",
    "One JSON object per line, or lines for people.",
    "`auto` (`pretty` on a terminal, else `json`)",
  ),
  LOG_CALLS: key(
    boolean(),
    false,
    "Executions that succeed are logged at level info, else at debug; failed ones always at warn.",
  ),
  LOG_MESSAGES: key(
    boolean(),
    true,
    "Log lines of executions hold their status message, which is the flow's own text.",
  ),
  METRICS_WEBHOOK_LABELS: key(
    boolean(),
    true,
    "Metrics name webhooks: those that are enabled, or, where they are more than 500, the first 500 " +
      "that are called; the rest, and with `false` all, are " +
      "`other`.",
  ),
});

/** The settings as they are written: `auto` and relative paths are still to be resolved. */
export type Settings = v.InferOutput<typeof CONFIG_SCHEMA>;

export type ConfigKey = keyof Settings;

export const CONFIG_KEYS = Object.keys(CONFIG_SCHEMA.entries) as readonly ConfigKey[];

/** The expectation, the reading and the default of a key. */
export function factsOf(name: ConfigKey): KeyFacts {
  return v.getMetadata(CONFIG_SCHEMA.entries[name].wrapped);
}

/** One row of the documentation, in the order of the schema. */
export interface ConfigRow {
  readonly key: ConfigKey;
  readonly default: string;
  /** Type, unit and range in words. */
  readonly type: string;
  readonly meaning: string;
}

/** The configuration in words, made from the schema. */
export function describeConfig(): ConfigRow[] {
  return CONFIG_KEYS.map((name) => {
    const entry = CONFIG_SCHEMA.entries[name];
    const facts = factsOf(name);
    return {
      key: name,
      default: facts.shown ?? showValue(v.getDefault(entry)),
      type: facts.expected,
      meaning: v.getDescription(entry.wrapped) ?? "",
    };
  });
}

function showValue(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

/** @param shown The default in words, where the value alone does not say it. */
function key<T>(kind: Kind<T>, value: NoInfer<T>, meaning: string, shown?: string) {
  const facts = { expected: kind.expected, reading: kind.reading, ...(shown && { shown }) };
  const described = v.pipe(kind.schema, v.description(meaning), v.metadata({ ...facts }));
  return v.optional(described, () => value);
}
