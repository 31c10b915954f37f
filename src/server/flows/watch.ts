import { relative, resolve, sep } from "node:path";
import { watch } from "chokidar";
import type { Log } from "../../shared/log.ts";
import { isInside } from "../../shared/path.ts";
import { isPackagesRecord } from "./packages.ts";
import type { FlowPaths } from "./paths.ts";

export interface Watch {
  /** PLUGINS_DIR is a link, or below one, and leads there now. */
  follow(root: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Calls `changed` for every event in a folder, which may also come, go and be replaced, but not
 * for those in the service's own folder. Of packages it hears that some were installed.
 * Resolves when nothing that happens from then on is missed.
 */
export function openWatch(
  folder: string,
  { root, own }: FlowPaths,
  changed: () => void,
  log: Log,
): Promise<Watch> {
  let target = root;
  const isIgnored = (path: string): boolean => {
    const within = relative(isInside(target, path) ? target : folder, path).split(sep);
    const isPackages = within.includes("node_modules") && !isPackagesRecord(within.join("/"));
    return isPackages || within.includes(".git") || isInside(own, resolve(path));
  };
  const watcher = watch([...new Set([resolve(folder), target])], {
    ignoreInitial: true,
    // Targets inside the folder are watched themselves, targets outside are never flows.
    followSymlinks: false,
    // The look at the folder tells of what cannot be read.
    ignorePermissionErrors: true,
    ignored: isIgnored,
  });
  watcher.on("all", changed);
  const told = new Set<string>();
  watcher.on("error", (error) => {
    const { code = "" } = error as NodeJS.ErrnoException;
    // Beyond the system's limit of watches, each folder has the same error.
    if (!told.has(code)) log.error({ err: error }, UNWATCHED);
    told.add(code);
  });
  const watching: Watch = {
    follow(next) {
      if (next === target) return;
      if (target !== resolve(folder)) watcher.unwatch(target);
      target = next;
      watcher.add(target);
    },
    [Symbol.asyncDispose]: () => watcher.close(),
  };
  return new Promise((resolve) => watcher.on("ready", () => resolve(watching)));
}

const UNWATCHED = "Cannot watch PLUGINS_DIR: changes are found within seconds, not at once";
