import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { getRawAsset } from "node:sea";
import { setFlagsFromString } from "node:v8";
import type { runCommand } from "./cli/program.ts";
import { CompiledProgram } from "./shared/compiled-program.ts";
import { RUNNER_MARK } from "./shared/runner-mark.ts";

/**
 * What the build sets of the young generation is for the main thread: of others there are many, each
 * with limits of its own. In MB; 0 is the runtime's own.
 */
setFlagsFromString("--min-semi-space-size=4");
setFlagsFromString("--max-semi-space-size=0");

/**
 * Process entry of the single binary. With `__runner FILE` it is nothing but a loader of that
 * file, which lies unpacked on disk: a runner starts in milliseconds and holds nothing of the
 * program, which is an asset of its own.
 */
const [, , command, file] = process.argv;
if (command === RUNNER_MARK && file !== undefined) createRequire(file)(file);
else startProgram().catch(reportUnstarted);

/** Runs the program's text, with its code where the build could compile it for this platform. */
async function startProgram(): Promise<void> {
  const text = Buffer.from(getRawAsset("program.cjs")).toString("latin1");
  // A service needs most of the program, other commands little of it.
  const isService = command === "serve" || command === "dev";
  const cache = Buffer.from(getRawAsset(isService ? "service.cache" : "program.cache"));
  const program = new CompiledProgram<{ readonly runCommand: typeof runCommand }>(
    text,
    "flowhook",
    cache.length === 0 ? undefined : cache,
  );
  process.exitCode = await program.load(process.execPath).runCommand(process.argv.slice(2));
}

/** Everything after the start is reported by the program itself. */
function reportUnstarted(error: unknown): void {
  process.stderr.write(`Cannot start: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}
