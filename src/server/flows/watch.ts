import { relative, resolve } from "node:path";
import { watch } from "chokidar";
import type { Log } from "../../shared/log.ts";
import { isInside } from "../../shared/path.ts";

export interface Watch {
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Calls `changed` for every event in a folder, which may also come, go and be replaced, but not
 * for those in the service's own folder.
 * Resolves when nothing that happens from then on is missed.
 */
export function openWatch(
  folder: string,
  own: string,
  changed: () => void,
  log: Log,
): Promise<Watch> {
  const watcher = watch(folder, {
    ignoreInitial: true,
    // Targets inside the folder are watched themselves, targets outside are never flows.
    followSymlinks: false,
    ignored: (path) =>
      /(^|[\\/])(node_modules|\.git)([\\/]|$)/.test(relative(folder, path)) ||
      isInside(own, resolve(path)),
  });
  watcher.on("all", changed);
  watcher.on("error", (error) =>
    log.error({ err: error }, "Cannot watch PLUGINS_DIR; reload flows by hand after changes"),
  );
  const watching = { [Symbol.asyncDispose]: () => watcher.close() };
  return new Promise((resolve) => watcher.on("ready", () => resolve(watching)));
}
