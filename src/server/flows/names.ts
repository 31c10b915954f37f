import { basename } from "node:path/posix";
import { splitUnseen } from "../../shared/unseen.ts";
import { hasOtherExtension } from "./misplaced.ts";

const EXTENSION = /\.(ts|mts|js|mjs)$/;
const NOT_A_FLOW = /\.(d|test)\.[cm]?[jt]sx?$|\.d\.[^.]+\.[cm]?ts$/;

/**
 * The name that a file gives a flow (contract, section 5): its path without the extension,
 * folders joined by dots, a trailing `index` left out. Null where the file can be no flow.
 * @param path Relative to PLUGINS_DIR, parts joined by `/`.
 */
export function flowName(path: string): string | null {
  if (!EXTENSION.test(path) || NOT_A_FLOW.test(path) || isHidden(path)) return null;
  return toName(path.replace(EXTENSION, ""));
}

/** The name of the flow that a file with another extension was meant as; null where it was not. */
export function misplacedName(path: string): string | null {
  if (!hasOtherExtension(path) || NOT_A_FLOW.test(path) || isHidden(path)) return null;
  return toName(path.slice(0, path.lastIndexOf(".")));
}

function toName(stem: string): string {
  const parts = stem.split("/");
  if (parts.length > 1 && parts.at(-1) === "index") parts.pop();
  return parts.join(".").normalize("NFC");
}

/** Whether a part of the path starts with `_` or `.`, or is node_modules. */
export function isHidden(path: string): boolean {
  return path.split("/").some((part) => /^[._]/.test(part) || part === "node_modules");
}

/** Why a name cannot be that of a flow (contract, section 2); null where it can. */
export function nameError(name: string): string | null {
  if (name.length > 128) return `The name '${name.slice(0, 40)}…' is longer than 128 characters`;
  if (name.trim() !== name) return `The name '${name}' has blanks at an end`;
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const wrong = /[\u0000-\u001f\u007f-\u009f/\\?#%]/.exec(name);
  if (wrong !== null)
    return `The name ${JSON.stringify(name)} has the character ${JSON.stringify(wrong[0])}`;
  const unseen = splitUnseen(name)
    .find(({ isUnseen }) => isUnseen)
    ?.text.codePointAt(0);
  if (unseen === undefined) return null;
  const code = unseen.toString(16).toUpperCase().padStart(4, "0");
  return `The name '${name}' has the invisible character U+${code}`;
}

/** The name that a folder with a `bundle.yaml` gives its bundle, unless the file says another. */
export function bundleName(directory: string): string {
  return directory.split("/").join(".").normalize("NFC");
}

/** Whether the file describes a bundle: `bundle.yaml` in a folder of PLUGINS_DIR. */
export function isBundleFile(path: string): boolean {
  return path.includes("/") && basename(path) === "bundle.yaml" && !isHidden(path);
}
