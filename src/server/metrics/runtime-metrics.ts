import type { Registry } from "prom-client";

/** Gauges that are named like counters, which Prometheus' own checks refuse. */
const MISNAMED = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/**
 * The figures of this process and of its runtime, in Prometheus' text format. What is watched for
 * them (the event loop, collections of garbage) is watched once somebody has asked.
 */
export function openRuntimeMetrics(): () => Promise<string> {
  let registry: Promise<Registry> | null = null;
  return async () => withoutNothing(await (await (registry ??= openRegistry())).metrics());
}

async function openRegistry(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import("prom-client");
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}

/** A mean of nothing is no number, and spoils whatever is made of it. */
function withoutNothing(text: string): string {
  return text.replace(/^.* Nan\n/gm, "");
}
