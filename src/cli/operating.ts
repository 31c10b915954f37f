import type { Command } from "commander";
import { printConfig } from "./config.ts";
import { printUnit } from "./systemd.ts";

/**
 * The commands of whoever operates a service. What needs the store is loaded when it runs.
 *
 * @param config flags and meaning of --config
 */
export function addOperatingCommands(program: Command, config: readonly [string, string]): void {
  addLookingCommands(program, config);
  addDataCommands(program, config);
}

function addLookingCommands(program: Command, config: readonly [string, string]): void {
  program
    .command("config")
    .description("Show each key of the configuration, its value and where that came from")
    .option(...config)
    .option("--json", "print JSON")
    .action(printConfig);
  program
    .command("doctor")
    .description("Look for what is wrong with a service, running or not, and say what to do")
    .option(...config)
    .option("--json", "print JSON")
    .action(async (options) => (await import("./doctor.ts")).examine(options));
}

function addDataCommands(program: Command, config: readonly [string, string]): void {
  program
    .command("backup")
    .description("Copy the database to a file, also while the service runs")
    .argument("<file>", "a file that is not there yet")
    .option(...config)
    .action(async (file, options) => (await import("./backup.ts")).backup(file, options));
  program
    .command("restore")
    .description("Put a backup in the place of the database of a stopped service")
    .argument("<file>", "what backup wrote")
    .option(...config)
    .action(async (file, options) => (await import("./backup.ts")).restore(file, options));
  program
    .command("systemd")
    .description("Print a hardened unit for systemd")
    .option(...config)
    .action(printUnit);
}
