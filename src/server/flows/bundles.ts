import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { CORE_SCHEMA, load } from "js-yaml";
import * as v from "valibot";
import type { FolderFaults } from "./folder-faults.ts";
import { bundleName, nameError } from "./names.ts";
import { messageOf } from "./sources.ts";

/** A folder of PLUGINS_DIR with a `bundle.yaml`; its flows belong to it. */
export interface Bundle {
  readonly name: string;
  /** Relative to PLUGINS_DIR, parts joined by `/`. */
  readonly directory: string;
  readonly description: string | null;
}

const BYTES_MAX = 64 * 1024;

const BundleFile = v.optional(
  v.nullable(
    v.strictObject({
      name: v.optional(v.pipe(v.string(), v.trim(), v.nonEmpty())),
      description: v.optional(v.nullable(v.string())),
    }),
  ),
);

/**
 * Reads every bundle. A file that cannot be read leaves its bundle with the folder's name, and a
 * name that is taken goes to the first folder; both are logged.
 */
export async function readBundles(
  root: string,
  directories: readonly string[],
  faults: FolderFaults,
): Promise<readonly Bundle[]> {
  const bundles = new Map<string, Bundle>();
  for (const directory of directories) {
    const about = `bundle ${directory}`;
    const bundle = await readBundle(root, directory).catch((error: unknown) => {
      faults.tell(about, `Cannot read '${directory}/bundle.yaml': ${messageOf(error)}`, {
        directory,
      });
      return { name: bundleName(directory), directory, description: null };
    });
    if (bundles.has(bundle.name)) {
      const fault = `The bundle '${directory}' has the name '${bundle.name}' of another; give it one of its own`;
      faults.tell(`${about}, its name`, fault, { directory });
    } else {
      bundles.set(bundle.name, bundle);
    }
  }
  return [...bundles.values()];
}

async function readBundle(root: string, directory: string): Promise<Bundle> {
  const path = join(root, directory, "bundle.yaml");
  if ((await stat(path)).size > BYTES_MAX) throw new Error("The file is larger than 64 KB");
  const text = await readFile(path, "utf8");
  const result = v.safeParse(BundleFile, load(text, { schema: CORE_SCHEMA }));
  if (!result.success) {
    const [issue] = result.issues;
    throw new Error(`'${v.getDotPath(issue) ?? "the file"}': ${issue.message}`);
  }
  const name = result.output?.name?.normalize("NFC") ?? bundleName(directory);
  const error = nameError(name);
  if (error !== null) throw new Error(error);
  return { name, directory, description: result.output?.description ?? null };
}

/** The bundle that a file belongs to: that of the nearest folder above it. */
export function bundleOf(file: string, bundles: readonly Bundle[]): string | null {
  let nearest: Bundle | null = null;
  for (const bundle of bundles) {
    const holds = file.startsWith(`${bundle.directory}/`);
    if (holds && bundle.directory.length > (nearest?.directory.length ?? -1)) nearest = bundle;
  }
  return nearest?.name ?? null;
}
