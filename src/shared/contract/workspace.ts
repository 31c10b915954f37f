import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT, MAYBE_TEXT, MAYBE_TIME, TIME } from "./scalar.ts";

/** null: it cannot be told. */
const BYTES = v.nullable(COUNT);

/** The service itself. */
export const WORKSPACE = v.strictObject({
  version: v.string(),
  runtime: v.pipe(v.string(), v.description("What the service runs on, with its version")),
  started_at: TIME,
  plugins_dir: v.pipe(v.string(), v.description("PLUGINS_DIR as an absolute path")),
  connections: v.strictObject({
    month: v.string(),
    used: COUNT,
    allowance: v.pipe(v.nullable(COUNT), v.description("CONNECTION_ALLOWANCE; null: unlimited")),
  }),
  executions: v.strictObject({
    running: COUNT,
    running_limit: v.pipe(COUNT, v.description("WORKER_THREADS")),
    waiting: COUNT,
    waiting_limit: v.pipe(COUNT, v.description("MAX_QUEUED_EXECUTIONS")),
  }),
  runners: v.strictObject({
    restarts: COUNT,
    processes: v.array(v.strictObject({ rss_bytes: COUNT, threads: COUNT, running: COUNT })),
  }),
  nodes: v.pipe(
    v.array(
      v.strictObject({
        id: v.pipe(MAYBE_TEXT, v.description("New at each start; null with SQLite")),
        name: v.pipe(v.string(), v.description("NODE_NAME")),
        version: v.string(),
        state: v.pipe(
          v.picklist(["ready", "draining", "lost"]),
          v.description("lost: its lease is over, and the others are about to give it up"),
        ),
        started_at: TIME,
        lease_until: v.pipe(
          MAYBE_TIME,
          v.description("By the database's clock, which alone decides; null with SQLite"),
        ),
        running: v.pipe(COUNT, v.description("Of another node, as of its last renewal")),
        waiting: v.pipe(COUNT, v.description("Of another node, as of its last renewal")),
        is_self: v.pipe(v.boolean(), v.description("The node that answers")),
      }),
    ),
    v.description("The services that share the store; one with SQLite"),
  ),
  store: v.strictObject({
    database_bytes: BYTES,
    wal_bytes: BYTES,
    ledger_bytes: COUNT,
    disk_free_bytes: BYTES,
    disk_bytes: BYTES,
  }),
});

export type Workspace = Read<typeof WORKSPACE>;
