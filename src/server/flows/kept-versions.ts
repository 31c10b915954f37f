import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { now } from "../../shared/clock.ts";
import { NAME_FILE } from "./flow-folder.ts";
import { missingAs } from "./paths.ts";
import { readRecord, readText, type VersionRecord } from "./version-record.ts";

/** How long, in milliseconds, the versions of a flow whose file is gone are kept: 30 days. */
const GONE_MS = 30 * 24 * 3600 * 1000;

/** The versions of one flow. */
export interface KeptVersions {
  serving: string | null;
  /** By version, oldest first. */
  readonly records: Map<string, VersionRecord>;
}

/**
 * Reads the versions of one flow; null where nothing worth keeping is left.
 *
 * @throws Error of what is there and cannot be read: nothing is removed then
 */
export async function openKeptVersions(path: string): Promise<KeptVersions | null> {
  const names = await readdir(path).catch(missingAs<string[]>([]));
  const records = await readRecords(path, names);
  const pointer = await readText(join(path, "serving"));
  const serving = pointer !== null && records.has(pointer) ? pointer : null;
  const newest = [...records.values()].at(-1)?.taken_at ?? 0;
  if (records.size === 0 || (serving === null && newest < now() - GONE_MS)) {
    await rm(path, { recursive: true, force: true });
    return null;
  }
  await removeStrays(path, names, records);
  return { serving, records };
}

async function readRecords(
  path: string,
  names: readonly string[],
): Promise<KeptVersions["records"]> {
  const records: [string, VersionRecord][] = [];
  for (const name of names) {
    if (!name.endsWith(".json")) continue;
    const version = name.slice(0, -".json".length);
    const record = await readRecord(join(path, name));
    if (record === null) continue;
    if (record.manifest === null || names.includes(version)) records.push([version, record]);
  }
  return new Map(records.toSorted(([, a], [, b]) => a.taken_at - b.taken_at));
}

/** Files that are no version's. */
const OWN = ["serving", NAME_FILE];

/** Folders without a record, and temporary ones: a crash came between. */
async function removeStrays(
  path: string,
  names: readonly string[],
  records: KeptVersions["records"],
): Promise<void> {
  for (const name of names) {
    const isKnown = OWN.includes(name) || records.has(name.replace(/\.json$/, ""));
    if (!isKnown) await rm(join(path, name), { recursive: true, force: true });
  }
}
