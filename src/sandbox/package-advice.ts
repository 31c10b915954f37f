import { basename as basenameNow, dirname as dirnameNow, sep as separator } from "node:path";
import * as js from "../shared/intrinsics.ts";

/** What an author is told of a package that is not where flows look for it. */

const [basename, dirname] = [basenameNow, dirnameNow];
const sep: string = separator;

/** A package's name in front of what is imported of it: only what a shell takes as it is. */
const NAME = /^(?:@\w[\w.-]*\/)?\w[\w.-]*(?=\/|$)/;
const PLAIN = /^\w[\w.-]*$/;

/** The folder is named by its own name alone: callers are told of this too. */
function adviseInstall(specifier: string, pluginsDir: string): string {
  const name = js.exec(NAME, specifier)?.[0];
  const folder = basename(pluginsDir);
  if (name === undefined) return "";
  if (js.exec(PLAIN, folder) === null)
    return `. In PLUGINS_DIR, run: npm install --prefix . ${name}`;
  return `. In the folder that has "${folder}", run: npm install --prefix ${folder} ${name}`;
}

/** Why a package cannot be imported that is in no folder. */
function describeMissing(specifier: string, pluginsDir: string): string {
  const advice = adviseInstall(specifier, pluginsDir);
  const shown = js.slice(specifier, 0, 100);
  return `Cannot find package "${shown}": install it in PLUGINS_DIR/node_modules${advice}`;
}

/** Why a package cannot be imported that npm has put beside a package.json further up. */
export function describeAbove(specifier: string, pluginsDir: string): string {
  const advice = adviseInstall(specifier, pluginsDir);
  return (
    `Cannot import "${js.slice(specifier, 0, 100)}": it is installed in a folder above PLUGINS_DIR, ` +
    `which flows cannot read. Install it in PLUGINS_DIR/node_modules${advice}`
  );
}

/** Whether a file is of a package of a folder above; a folder of packages has it, and it is not this one. */
export function isAbove(path: string, pluginsDir: string): boolean {
  let folder = dirname(pluginsDir);
  for (;;) {
    const root = dirname(folder);
    if (js.startsWith(path, `${folder === root ? "" : folder}${sep}node_modules${sep}`))
      return true;
    if (folder === root) return false;
    folder = root;
  }
}

/** The file that the runtime was not let read; empty where the error is another one. */
function deniedFile(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  if (js.get(error, "code") !== "ERR_ACCESS_DENIED") return "";
  const path: unknown = js.get(error, "resource");
  return typeof path === "string" ? path : "";
}

/** What the runtime throws where it finds neither a file nor a package. */
export function isNotFound(error: unknown): error is object {
  const code: unknown = typeof error === "object" && error !== null ? js.get(error, "code") : null;
  return (
    code === "ERR_MODULE_NOT_FOUND" ||
    code === "MODULE_NOT_FOUND" ||
    code === "ERR_UNSUPPORTED_DIR_IMPORT"
  );
}

/** Why no package was found, in words that say what to do; other errors stay as they are. */
export function toPackageError(error: unknown, specifier: string, pluginsDir: string): unknown {
  if (isAbove(deniedFile(error), pluginsDir))
    return new js.Error(describeAbove(specifier, pluginsDir));
  return isNotFound(error) ? new js.Error(describeMissing(specifier, pluginsDir)) : error;
}
