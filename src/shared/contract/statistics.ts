import * as v from "valibot";
import type { Read } from "./read.ts";
import { COUNT, MAYBE_TEXT, TIME } from "./scalar.ts";

const MAYBE_MS = v.nullable(v.number());

const INTERVAL = v.strictObject({
  at: TIME,
  webhook: v.pipe(MAYBE_TEXT, v.description("Under by=webhook; null: started without one")),
  flow: v.pipe(MAYBE_TEXT, v.description("Under by=flow")),
  calls: COUNT,
  failures: COUNT,
  duration_avg_ms: MAYBE_MS,
  duration_max_ms: MAYBE_MS,
  duration_p50_ms: MAYBE_MS,
  duration_p95_ms: MAYBE_MS,
  duration_p99_ms: MAYBE_MS,
});

export type Interval = Read<typeof INTERVAL>;

export const STATISTICS = v.strictObject({
  from: TIME,
  to: TIME,
  interval_sec: v.number(),
  items: v.array(INTERVAL),
});

export type Statistics = Read<typeof STATISTICS>;
