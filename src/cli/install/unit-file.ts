import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { quotePath } from "../../server/config/unwritable.ts";
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

/**
 * @param source file of the single binary that is to be installed, for the advice; null: none is
 * @throws CommandError for a unit of somebody else, or one that somebody changed
 */
export function requireOwnUnit(source: string | null = null): void {
  if (stateOfUnit() !== "changed") return;
  const program = findPrinted();
  if (source !== null && program !== null)
    throw new CommandError(
      `"${UNIT_FILE}" was printed by flowhook systemd, for a service with a user of its own: ` +
        `install leaves it alone. To upgrade that service, run: sudo systemctl stop flowhook && ` +
        `sudo cp --remove-destination ${quotePath(source)} ${program} && ` +
        `sudo systemctl start flowhook`,
    );
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

/** The program of a unit that `flowhook systemd` printed; null where it is another one. */
function findPrinted(): string | null {
  const text = readFileSync(UNIT_FILE, "utf8");
  if (!text.startsWith(`# ${UNIT_FILE}\n`)) return null;
  // One file, whose name needs no quotes: another one, as of a runtime, is not replaced by it.
  return /^ExecStart=(\/[\w./@:+-]+) serve /m.exec(text)?.[1] ?? null;
}

export function isUnit(text: string): boolean {
  return existsSync(UNIT_FILE) && readFileSync(UNIT_FILE, "utf8") === text;
}

function sumOf(unit: string): string {
  return createHash("sha256").update(unit).digest("hex");
}
