import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { now, toIso } from "../../shared/clock.ts";
import { describeMs, reportOn, type Finding } from "./finding.ts";

const clock = reportOn("clock");

/** Apart by less than this the clocks of two machines may be; milliseconds. */
const DRIFT_MS = 60_000;

const ACTION =
  "Set the clock, and keep it set: sudo timedatectl set-ntp true. Signatures of senders, logins " +
  "and retention go by it";

/**
 * The clock against the newest execution, and whether something keeps it right.
 *
 * @param newestAt null without an execution
 */
export async function examineClock(newestAt: number | null): Promise<Finding[]> {
  const behind = (newestAt ?? 0) - now();
  if (behind > DRIFT_MS) {
    const message = `The clock says ${toIso(now())}, which is ${describeMs(behind)} before the newest execution`;
    return [clock.error(message, ACTION)];
  }
  const isKept = await askSystem();
  if (isKept === false)
    return [clock.warning(`The clock says ${toIso(now())}, and nothing keeps it right`, ACTION)];
  const by = isKept ? "; it is synchronized" : "";
  return [clock.ok(`The clock says ${toIso(now())}${by}`)];
}

const ASK_MS = 3000;

/** What systemd knows of the clock; null where nobody knows. */
async function askSystem(): Promise<boolean | null> {
  const args = ["show", "--property=NTPSynchronized", "--value"];
  try {
    const { stdout } = await promisify(execFile)("timedatectl", args, { timeout: ASK_MS });
    const word = stdout.trim();
    return word === "yes" ? true : word === "no" ? false : null;
  } catch {
    return null;
  }
}
