import { statSync } from "node:fs";
import { now } from "../../shared/clock.ts";
import { CONFIG_FILE } from "../systemd.ts";
import { askSystemd, asksSystemd, runProgram } from "./machine.ts";
import type { Step } from "./step.ts";
import { UNIT } from "./unit-file.ts";

export function enable(): Step {
  return {
    what: "start the service with the machine: systemctl enable flowhook",
    isDone: () => asksSystemd("is-enabled", UNIT),
    act: () => void runProgram("systemctl", "enable", UNIT),
  };
}

/** Again where it runs with something else than what is there now. */
export function start(): Step {
  return {
    what: "start the service: systemctl restart flowhook",
    isDone: (isChanged = false) =>
      !isChanged && asksSystemd("is-active", UNIT) && hasReadConfiguration(),
    act: () => void runProgram("systemctl", "restart", UNIT),
  };
}

/** Whether the file is as it was when the service started: its last change or renaming counts. */
function hasReadConfiguration(): boolean {
  const changed = statSync(CONFIG_FILE, { throwIfNoEntry: false })?.ctimeMs;
  const started = Number(askSystemd("ExecMainStartTimestampMonotonic", UNIT)) / 1000;
  if (changed === undefined || !(started > 0)) return false;
  const ago = Number(process.hrtime.bigint()) / 1e6 - started;
  return changed <= now() - ago;
}
