import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Service } from "./service.ts";

/**
 * Throws where one of the texts stands in what a stopped service has printed, or in any file of
 * its data folder. What a caller could use to get in must be kept nowhere in clear.
 */
export async function assertNotKept(
  service: Pick<Service, "directory">,
  printed: string,
  texts: readonly string[],
): Promise<void> {
  const files = await readFolder(join(service.directory, "data"));
  for (const text of texts) {
    if (printed.includes(text)) throw new Error(`"${text}" stands in the log`);
    for (const [path, content] of files) {
      if (content.includes(text)) throw new Error(`"${text}" stands in "${path}"`);
    }
  }
}

async function readFolder(directory: string): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path, await readFile(path));
  }
  return files;
}
