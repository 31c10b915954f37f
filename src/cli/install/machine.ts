import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { CommandError } from "../command-error.ts";

/** The system that a service is installed on. */

/** The user of an installed service, and its group. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * @param isDry whether nothing will be done: then nobody has to be root
 * @throws CommandError where there is no systemd, or this is not root
 */
export function requireSystemd(act: string, isDry: boolean): void {
  if (process.platform !== "linux")
    throw new CommandError(
      `Found ${process.platform}, and flowhook ${act} needs Linux with systemd`,
    );
  if (isDry) return;
  if (process.geteuid?.() !== 0)
    throw new CommandError(
      `flowhook ${act} changes the system: run it as root (sudo flowhook ${act}), or see what it ` +
        `would do with --dry-run`,
    );
  // As sd_booted(3) tells.
  if (existsSync("/run/systemd/system")) return;
  throw new CommandError(
    "Systemd does not run on this machine. flowhook serve runs the service in any other way",
  );
}

/** passwd(5); null where there is no user of this name. */
export function findUser(name: string): SystemUser | null {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  const [, , uid, gid] =
    lines.map((line) => line.split(":")).find(([first]) => first === name) ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

/** @throws CommandError with what the program printed, where it fails */
export function runProgram(program: string, ...args: readonly string[]): string {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stderr = "", message } = error as Error & { stderr?: string };
    throw new CommandError(`Cannot run ${program} ${args.join(" ")}: ${stderr.trim() || message}`);
  }
}

/** Whether systemd answers yes: `is-active`, `is-enabled`. */
export function asksSystemd(question: string, unit: string): boolean {
  try {
    execFileSync("systemctl", [question, "--quiet", unit], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** A property of a unit; empty where systemd does not tell. */
export function askSystemd(property: string, unit: string): string {
  const args = ["show", "--value", "--property", property, unit];
  const { stdout } = spawnSync("systemctl", args, { encoding: "utf8" });
  return (stdout ?? "").trim();
}
