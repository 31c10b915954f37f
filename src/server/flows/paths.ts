import { realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isInside } from "../../shared/path.ts";

/** Where flows lie, as absolute paths with symlinks resolved. */
export interface FlowPaths {
  /** PLUGINS_DIR. */
  readonly root: string;
  /** What the service itself writes: never part of a flow, also where it lies in PLUGINS_DIR. */
  readonly own: string;
}

/** Folders that do not exist stay as they are. */
export async function findPaths(pluginsDir: string, dataDir: string): Promise<FlowPaths> {
  const root = await real(pluginsDir);
  const data = await real(dataDir);
  return { root, own: isInside(data, root) ? join(data, "versions") : data };
}

function real(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

/** Whether an error says that a file or folder is not there; links in a circle lead nowhere. */
export function isMissing(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP";
}

/** What stands for something that is not there; what is there and cannot be read is another matter. */
export function missingAs<T>(nothing: T): (error: unknown) => T {
  return (error) => {
    if (!isMissing(error)) throw error;
    return nothing;
  };
}
