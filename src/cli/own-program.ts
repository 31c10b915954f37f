import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { EMBEDDED, type Embedded } from "../assets/embedded.ts";
import { CommandError } from "./command-error.ts";

/**
 * How this program is started from any folder: the single binary alone, or a runtime with the
 * program's file. What was typed tells nothing: a shell looks names up in PATH.
 *
 * @throws CommandError where that cannot be told, e.g. for a program that was replaced
 */
export function findProgram(): string[] {
  const { execPath, argv } = process;
  try {
    const runtime = realpathSync(execPath);
    if (isOneFile()) return [runtime];
    const file = realpathSync(argv[1] ?? "");
    return "Deno" in globalThis
      ? [runtime, "run", "-A", file]
      : [runtime, ...process.execArgv.map((word) => toWhole(word, file)), file];
  } catch (error) {
    throw new CommandError(`Cannot tell where this program lies: ${(error as Error).message}`);
  }
}

/** Whether the runtime carries the program. */
export function isOneFile(): boolean {
  const carried: Embedded | null = EMBEDDED;
  const { Deno } = globalThis as { Deno?: { build: { standalone?: boolean } } };
  return carried?.mode === "binary" || Deno?.build.standalone === true;
}

/** A loader by its package's name (`--import tsx`) is found from this folder alone. */
function toWhole(word: string, file: string): string {
  if (!/^[\w@][\w./-]*$/.test(word)) return word;
  return pathToFileURL(createRequire(file).resolve(word)).href;
}
