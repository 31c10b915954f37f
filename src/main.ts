import { runCommand } from "./cli/program.ts";

/** Process entry of the source and of the bundle; that of the single binary is binary.ts. */
process.exitCode = await runCommand(process.argv.slice(2));
