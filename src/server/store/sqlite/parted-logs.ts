import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { now } from "../../../shared/clock.ts";
import { ledgerPaths } from "../../../shared/ledger-paths.ts";
import { moveLedger } from "./ledger-file.ts";
import { MAGIC } from "./ledger-row.ts";

/**
 * The WAL and the ledger lie beside a database, and nothing in them says which: laid over another
 * file that was put there they undo it, or damage it. A service that sees its database leave them
 * notes whose they are, for who starts next.
 */

/** Holds the identity of the database to which they belong. */
const noteOf = (path: string): string => `${path}-parted`;

/**
 * Tells a file from another one in its place, also from one that gets its number once it is deleted.
 * Not the device, whose number a reboot may change.
 */
function identify(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.ino}:${found.birthtimeNs}`;
}

/** Of a service that has the database open. */
export class PartedNote {
  readonly #path: string;
  #identity: string | null = null;

  /** @param path of the database file, no link */
  constructor(path: string) {
    this.#path = path;
  }

  /** From now on; it is there. A note of before is of no use any more. */
  watch(): void {
    this.#identity = identify(this.#path);
    this.update();
  }

  /** Makes the note where another file is there, or none; removes it where it is back. */
  update(): void {
    if (this.#identity === null) return;
    try {
      const isThere = identify(this.#path) === this.#identity;
      if (isThere) rmSync(noteOf(this.#path), { force: true });
      else writeFileSync(noteOf(this.#path), this.#identity, { mode: 0o600 });
    } catch {
      // The folder itself may be gone.
    }
  }
}

/** Whether what lies beside a database, or where one was, is of another file. */
export function arePartedAt(path: string): boolean {
  const note = noteOf(path);
  return existsSync(note) && readFileSync(note, "utf8") !== identify(path);
}

/** For people, where that has to be mended first. */
export const PARTED =
  "was moved, deleted or replaced under a running service: its WAL and its ledger are of the file that " +
  "was there";
export const PARTED_ACTION = "Move that file back, or stop the service and start it again";

/** What lies beside a database, or where one was, and holds something. */
export function listLogs(path: string): string[] {
  const logs = [`${path}-wal`, ...ledgerPaths(path)];
  const sizeOf = (log: string) => statSync(log, { throwIfNoEntry: false })?.size ?? 0;
  return logs.filter((log) => sizeOf(log) > MAGIC.length);
}

/** Gives the WAL and the ledger of a database to another name of it. */
export function moveLogs(path: string, to: string): void {
  moveLedger(path, to);
  for (const end of ["-wal", "-shm"]) if (existsSync(path + end)) renameSync(path + end, to + end);
}

/**
 * Keeps the WAL and the ledger under another name: they are not of the file that is there.
 *
 * @returns what was done, for people; null where they held nothing
 */
export function keepApart(path: string): string | null {
  const to = `${path}.before-${now()}`;
  const held = listLogs(path).map((log) => `"${to}${log.slice(path.length)}"`);
  moveLogs(path, to);
  rmSync(noteOf(path), { force: true });
  if (held.length === 0) return null;
  return (
    `What lay beside "${path}" is of a database that was moved, deleted or replaced, and has what ` +
    `that one lacks. It was kept as ${held.join(", ")}. To use that one again, stop the service and ` +
    `put it at "${to}": with DATABASE_URL: sqlite:${to} it is whole`
  );
}
