import { createRequire } from "node:module";

/**
 * Process entry. The single binary starts its runner processes from itself: with `__runner FILE`
 * it is nothing but a loader of that file, which lies unpacked on disk.
 */
const [, , command, file] = process.argv;
if (command === "__runner" && file !== undefined) {
  createRequire(file)(file);
} else {
  const { runCommand } = await import("./cli/program.ts");
  process.exitCode = await runCommand(process.argv.slice(2));
}
