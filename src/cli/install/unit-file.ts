import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { CommandError } from "../command-error.ts";

/** The unit of an installed service: its first lines tell whether somebody changed it since. */

export const UNIT = "flowhook.service";
export const UNIT_FILE = `/etc/systemd/system/${UNIT}`;

const SUM = /^# sha256:([0-9a-f]{64})$/m;

/** @param unit without words before it */
export function markUnit(unit: string): string {
  return (
    "# Made by flowhook install, which renews it. Changes of your own belong into another file:\n" +
    `#   sudo systemctl edit flowhook\n# sha256:${sumOf(unit)}\n${unit}`
  );
}

/** @throws CommandError for a unit of somebody else, or one that somebody changed */
export function requireOwnUnit(): void {
  if (stateOfUnit() !== "changed") return;
  throw new CommandError(
    `"${UNIT_FILE}" was not made by flowhook install, or was changed since. It stays as it is: ` +
      `move it away first (changes belong into: sudo systemctl edit flowhook)`,
  );
}

/** `changed`: somebody wrote it, or changed it, who is not `flowhook install`. */
function stateOfUnit(): "missing" | "ours" | "changed" {
  if (!existsSync(UNIT_FILE)) return "missing";
  const text = readFileSync(UNIT_FILE, "utf8");
  const found = SUM.exec(text);
  if (found === null) return "changed";
  const unit = text.slice(found.index + found[0].length + 1);
  return found[1] === sumOf(unit) ? "ours" : "changed";
}

export function isUnit(text: string): boolean {
  return existsSync(UNIT_FILE) && readFileSync(UNIT_FILE, "utf8") === text;
}

function sumOf(unit: string): string {
  return createHash("sha256").update(unit).digest("hex");
}
