import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { readAsset } from "../assets/read.ts";
import { sampleConfig } from "../server/config/sample.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { makeFolder } from "../shared/make-folder.ts";
import { MAPPING, adviseOnMapping, writeDeclarations } from "./declarations.ts";
import { CommandError } from "./command-error.ts";
import { createWhole } from "./whole-file.ts";

/** `module: preserve` reads flows as the service does: as modules, whatever a package.json says. */
const TSCONFIG = `{
  "compilerOptions": {
    "target": "esnext",
    "module": "preserve",
    "lib": ["esnext", "webworker"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "allowJs": true,
    ${MAPPING}
  },
  "include": ["plugins"]
}
`;

/**
 * Makes a folder to serve from: configuration, a first flow, and what editors need. A file that
 * is there already stays as it is.
 */
export function init(folder = "."): void {
  const wrote: string[] = [];
  const left: string[] = [];
  const put = (name: string, content: string | Uint8Array): void => {
    const path = join(folder, name);
    if (existsSync(path)) return void left.push(path);
    makeFolder(dirname(path));
    createWhole(path, content);
    wrote.push(path);
  };
  try {
    put("flowhook.yaml", sampleConfig());
    if (isEmpty(join(folder, "plugins"))) put("plugins/hello.ts", readAsset("demo/hello.ts"));
    else left.push(join(folder, "plugins"));
    put("tsconfig.json", TSCONFIG);
    put(".gitignore", "/data/\n");
  } catch (error) {
    throw new CommandError(`Cannot set up "${folder}": ${(error as Error).message}`);
  }
  const declarations = writeDeclarations(folder, { renew: false });
  report(folder, [...wrote, ...declarations.wrote], [...left, ...declarations.left]);
  if (declarations.left.length > 0)
    process.stdout.write(`Renew the declarations with: ${inFolder(folder)}flowhook types\n`);
}

function isEmpty(folder: string): boolean {
  return !existsSync(folder) || readdirSync(folder).length === 0;
}

function report(folder: string, wrote: readonly string[], left: readonly string[]): void {
  for (const path of wrote) process.stdout.write(`Wrote ${path}\n`);
  for (const path of left) process.stdout.write(`Left ${path} as it is\n`);
  adviseOnMapping(folder);
  const go = inFolder(folder);
  process.stdout.write(
    `\nWrite flows with: ${go}flowhook dev\nServe them with: ${go}flowhook serve\n`,
  );
}

function inFolder(folder: string): string {
  return folder === "." ? "" : `cd ${quotePath(folder)} && `;
}
