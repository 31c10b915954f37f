import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { flowName, isBundleFile, isHidden, misplacedName } from "./names.ts";
import { isMissing, type FlowPaths } from "./paths.ts";

/** What a look at PLUGINS_DIR found. Paths are relative to it, parts joined by `/`, sorted. */
export interface Scan {
  /** Flow name to the files that give it. */
  readonly flows: ReadonlyMap<string, readonly string[]>;
  /** Code with an extension that no flow has, by the name that it was meant to give. */
  readonly misplaced: ReadonlyMap<string, string>;
  /** Folders with a `bundle.yaml`. */
  readonly bundles: readonly string[];
}

/** Lists the files that may be flows. A missing folder is an empty one. */
export async function scan(paths: FlowPaths): Promise<Scan> {
  const flows = new Map<string, string[]>();
  const misplaced = new Map<string, string>();
  const bundles: string[] = [];
  for (const path of await listFiles(paths)) {
    const name = flowName(path);
    if (name !== null) flows.set(name, [...(flows.get(name) ?? []), path]);
    const meant = misplacedName(path);
    if (meant !== null) misplaced.set(meant, path);
    if (isBundleFile(path)) bundles.push(path.slice(0, path.lastIndexOf("/")));
  }
  return { flows, misplaced, bundles };
}

async function listFiles({ root, own }: FlowPaths): Promise<string[]> {
  const files: string[] = [];
  const folders = [""];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entriesOf(join(root, folder))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (!entry.isDirectory()) files.push(path);
      // Linked folders are not walked: inside, their files have a path of their own already.
      else if (!isHidden(entry.name) && join(root, path) !== own) folders.push(path);
    }
  }
  return files.toSorted();
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    // Gone between two steps of the walk, or not there yet: the next event tells.
    if (isMissing(error)) return [];
    throw error;
  }
}
