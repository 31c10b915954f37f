import { readdir, realpath, stat } from "node:fs/promises";
import { isInside } from "../../shared/path.ts";
import { join } from "node:path";
import { flowName, isBundleFile, isHidden, misplacedName } from "./names.ts";
import { isMissing, type FlowPaths } from "./paths.ts";
import { messageOf } from "./sources.ts";

/** What a look at PLUGINS_DIR found. Paths are relative to it, parts joined by `/`, sorted. */
export interface Scan {
  /** Flow name to the files that give it. */
  readonly flows: ReadonlyMap<string, readonly string[]>;
  /** Code with an extension that no flow has, by the name that it was meant to give. */
  readonly misplaced: ReadonlyMap<string, string>;
  /** Folders with a `bundle.yaml`. */
  readonly bundles: readonly string[];
  /** Links to folders outside of it. */
  readonly links: readonly string[];
  /** Why a folder could not be read, by its path; PLUGINS_DIR itself is "". */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Whether there is no PLUGINS_DIR. */
  readonly isMissing: boolean;
}

/**
 * Lists the files that may be flows. A missing folder is an empty one; what lies in a folder that
 * cannot be read is not known.
 */
export async function scan(paths: FlowPaths): Promise<Scan> {
  const flows = new Map<string, string[]>();
  const misplaced = new Map<string, string>();
  const bundles: string[] = [];
  const { files, ...others } = await listFiles(paths);
  for (const path of files) {
    const name = flowName(path);
    if (name !== null) flows.set(name, [...(flows.get(name) ?? []), path]);
    const meant = misplacedName(path);
    if (meant !== null) misplaced.set(meant, path);
    if (isBundleFile(path)) bundles.push(path.slice(0, path.lastIndexOf("/")));
  }
  return { flows, misplaced, bundles, ...others };
}

/** The data folder of any service, this one's or not, has the one; copies of flows lie in the other. */
const [DATA_LOCK, VERSIONS] = ["lock.db", "versions"];

async function listFiles({ root, own }: FlowPaths) {
  const files: string[] = [];
  const links: string[] = [];
  const unreadable = new Map<string, string>();
  const folders = [""];
  let isMissing = false;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await entriesOf(join(root, folder)).catch(messageOf);
    if (typeof entries === "string") {
      unreadable.set(folder, entries);
      continue;
    }
    if (folder === "") isMissing = entries === null;
    const isData = entries?.some(({ name }) => name === DATA_LOCK) === true;
    if (isData && folder !== "") continue;
    for (const entry of entries ?? []) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isSymbolicLink() && (await isFolderElsewhere(root, path))) links.push(path);
      if (!entry.isDirectory()) files.push(path);
      // Linked folders are not walked: inside, their files have a path of their own already.
      else if (isHidden(entry.name) || join(root, path) === own) continue;
      else if (!isData || entry.name !== VERSIONS) folders.push(path);
    }
  }
  return { files: files.toSorted(), links, unreadable, isMissing };
}

/** Of a link that is not meant as a flow's file. */
async function isFolderElsewhere(root: string, path: string): Promise<boolean> {
  if (isHidden(path) || flowName(path) !== null) return false;
  try {
    const real = await realpath(join(root, path));
    return !isInside(root, real) && (await stat(real)).isDirectory();
  } catch {
    return false;
  }
}

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    // Gone between two steps of the walk, or not there yet: the next event tells.
    if (isMissing(error)) return null;
    throw error;
  }
}
