import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listAssets, readAsset } from "../assets/read.ts";
import { makeFolder } from "../shared/make-folder.ts";
import { CommandError } from "./command-error.ts";
import { replaceWhole } from "./whole-file.ts";

/**
 * The part of a tsconfig.json that leads editors to them. Imports name the file, and of the modules
 * of Node there are only those that flows may use: others are named in their declarations.
 */
export const MAPPING = `"allowImportingTsExtensions": true,
    "noEmit": true,
    "skipLibCheck": true,
    "types": ["./types/node"],
    "paths": {
      "flowhook": ["./types/flowhook.d.ts"],
      "flowhook/testing": ["./types/testing.d.ts"]
    }`;

const NODE = "types/node/";
const REFERENCE = /^\/\/\/ <reference path="([^"]+)" \/>\n/gm;

/** Writes the declaration files of this version in place of those of another one. */
export function writeTypes(folder = "."): void {
  const { wrote } = writeDeclarations(folder, { renew: true });
  for (const path of wrote) process.stdout.write(`Wrote ${path}\n`);
  if (!existsSync(join(folder, "deno.json"))) adviseOnMapping(folder);
}

/** Says what a tsconfig.json of the folder is to have, unless it leads to them already. */
export function adviseOnMapping(folder: string): void {
  const path = join(folder, "tsconfig.json");
  if (existsSync(path) && readFileSync(path, "utf8").includes("types/flowhook.d.ts")) return;
  const text = `\nPut this into the compilerOptions of your tsconfig.json:\n    ${MAPPING}\n`;
  process.stdout.write(text);
}

/** Paths of declarations; a folder for those of Node. */
interface Declarations {
  readonly wrote: readonly string[];
  readonly left: readonly string[];
}

/**
 * What editors read to understand `import 'flowhook'` and the modules of Node that flows may use.
 *
 * @param options.renew whether those that are there are replaced
 */
export function writeDeclarations(folder: string, options: { renew: boolean }): Declarations {
  const wrote = new Set<string>();
  const left = new Set<string>();
  try {
    for (const name of listAssets("types/")) {
      const path = join(folder, name);
      const isLeft = !options.renew && existsSync(path);
      if (!isLeft) write(path, readDeclaration(name));
      (isLeft ? left : wrote).add(name.startsWith(NODE) ? join(folder, NODE) : path);
    }
    return { wrote: [...wrote], left: [...left] };
  } catch (error) {
    throw new CommandError(`Cannot write the declarations: ${(error as Error).message}`);
  }
}

function write(path: string, content: string | Uint8Array): void {
  makeFolder(dirname(path));
  replaceWhole(path, content);
}

/** The list of Node's declarations names modules too that no flow may import. */
function readDeclaration(name: string): string | Uint8Array {
  const content = readAsset(name);
  if (name !== `${NODE}index.d.ts`) return content;
  const carried = new Set(listAssets(NODE));
  const text = Buffer.from(content).toString();
  return text.replace(REFERENCE, (line, path: string) => (carried.has(NODE + path) ? line : ""));
}
