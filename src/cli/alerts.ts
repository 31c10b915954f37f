import { readAsset } from "../assets/read.ts";

/** Prints rules for Prometheus: what to be woken for, and what to do then. */
export function printAlerts(): void {
  process.stdout.write(readAsset("alerts.yaml"));
}
