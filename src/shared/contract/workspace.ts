import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT } from "./scalar.ts";

/** The service itself. */
export const WORKSPACE = v.strictObject({
  version: v.string(),
  connections: v.strictObject({
    month: v.string(),
    used: COUNT,
    allowance: v.pipe(v.nullable(COUNT), v.description("CONNECTION_ALLOWANCE; null: unlimited")),
  }),
  executions: v.strictObject({ running: COUNT, waiting: COUNT }),
  runners: v.strictObject({
    restarts: COUNT,
    processes: v.array(v.strictObject({ rss_bytes: COUNT, threads: COUNT, running: COUNT })),
  }),
});

export type Workspace = Read<typeof WORKSPACE>;
