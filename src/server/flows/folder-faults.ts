import type { Log } from "../../shared/log.ts";

/** What is wrong with PLUGINS_DIR itself: each fault is told once, until it changes or has gone. */
export class FolderFaults {
  readonly #log: Log;
  /** By what they are of: their messages at the last scan, and at this one. */
  #told = new Map<string, string>();
  #found = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** @param about names the fault among others: two of one place have two names */
  tell(about: string, message: string, members: object = {}): void {
    this.#found.set(about, message);
    if (this.#told.get(about) === message) return;
    this.#told.set(about, message);
    this.#log.error(members, message);
  }

  /** Those of the last scan. */
  list(): readonly string[] {
    return [...this.#told.values()];
  }

  /** The scan has ended: what it has not found is gone, and is told when it comes again. */
  endScan(): void {
    this.#told = this.#found;
    this.#found = new Map();
  }
}

export function describeUnreadable(folder: string, why: string): string {
  const what = folder === "" ? "PLUGINS_DIR" : `the folder '${folder}' of PLUGINS_DIR`;
  return `Cannot read ${what}: ${why}`;
}

export function describeGone(folder: string): string {
  return (
    `There is no folder "${folder}" (PLUGINS_DIR) any more, and its flows are gone with it. ` +
    `They come back with the folder`
  );
}

export function describeLink(path: string): string {
  return (
    `'${path}' is a link to a folder outside of PLUGINS_DIR: its flows are not loaded; ` +
    `copy the folder into PLUGINS_DIR`
  );
}

/** Why files give no flow that have one name; null where it is one file. */
export function sharedName(name: string, files: readonly string[]): string | null {
  if (files.length < 2) return null;
  const all = files.map((file) => `'${file}'`).join(" and ");
  return `The files ${all} have the same flow name '${name}'; rename all but one`;
}
