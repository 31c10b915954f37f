import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "./sources.ts";
import { readText, writeWhole } from "./version-record.ts";

/** Which folder of DATA_DIR/versions is a flow's. */

/** Longest name of a folder, in bytes: file systems take so many. */
const MAX_BYTES = 255;

/** What stands before the hash of a name that is too long; `%` and two digits are a sign. */
const HASHED = "%~";

/** The file in such a folder that holds the name. */
export const NAME_FILE = "name";

/** A flow's name as one folder name: names have no `%`, so the way back is certain. */
export function folderName(flow: string): string {
  const name = flow.replace(/[<>:"|*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return Buffer.byteLength(name) > MAX_BYTES ? HASHED + sha256(Buffer.from(flow)) : name;
}

/** Makes the folder of a flow, and writes its name into it where the folder's does not tell it. */
export async function nameFolder(root: string, flow: string): Promise<void> {
  const folder = folderName(flow);
  await mkdir(join(root, folder), { recursive: true });
  if (folder.startsWith(HASHED)) await writeWhole(join(root, folder, NAME_FILE), flow);
}

/** The name of the flow whose folder it is; null where that is not known. */
export async function flowOf(root: string, folder: string): Promise<string | null> {
  if (folder.startsWith(HASHED)) return readText(join(root, folder, NAME_FILE));
  return folder.replace(/%([0-9a-f]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}
