import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readAsset } from "../assets/read.ts";
import { CommandError } from "./command-error.ts";

/** What editors read to understand `import 'flowhook'`: valibot's declarations are beside ours. */
const DECLARATIONS = ["types/flowhook.d.ts", "types/valibot.d.ts"];

/** The part of a tsconfig.json that leads editors to them. */
const MAPPING = '"paths": { "flowhook": ["./types/flowhook.d.ts"] }';

/** Writes the declaration files of this version in place of those of another one. */
export function writeTypes(folder = "."): void {
  for (const path of writeDeclarations(folder)) process.stdout.write(`Wrote ${path}\n`);
  if (existsSync(join(folder, "tsconfig.json")) || existsSync(join(folder, "deno.json"))) return;
  process.stdout.write(`Put this into the compilerOptions of your tsconfig.json: ${MAPPING}\n`);
}

/** @returns the paths that were written */
export function writeDeclarations(folder: string): string[] {
  try {
    mkdirSync(join(folder, "types"), { recursive: true });
    return DECLARATIONS.map((name) => {
      const path = join(folder, name);
      writeFileSync(path, readAsset(name));
      return path;
    });
  } catch (error) {
    throw new CommandError(`Cannot write the declarations: ${(error as Error).message}`);
  }
}
