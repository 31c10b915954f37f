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
  addMoveCommand(program, config);
  addInstallCommands(program, config);
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
    .option(
      "--cacert <file>",
      "authorities of an HTTPS BASE_URL, PEM (default: SSL_CERT_FILE, or the system's)",
    )
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
}

function addMoveCommand(program: Command, config: readonly [string, string]): void {
  program
    .command("move")
    .description("Move the store of a stopped service from SQLite into an empty PostgreSQL")
    .argument("<from>", "sqlite:PATH")
    .argument("[to]", "postgres://USER@HOST/NAME (default: DATABASE_URL of the configuration)")
    .option(...config)
    .option("--json", "print JSON")
    .action(async (from, to, options) =>
      (await import("./move.ts")).move(from, to ?? null, options),
    );
}

function addInstallCommands(program: Command, config: readonly [string, string]): void {
  program
    .command("systemd")
    .description("Print a hardened unit for systemd")
    .option(...config)
    .option("--user <name>", "a user of this machine, in the place of one that systemd makes")
    .action(printUnit);
  program
    .command("install")
    .description("Install this program as a service of systemd, and start it (root)")
    .option("--dry-run", "print what would be done")
    .action(async (options) => (await import("./install.ts")).install(options));
  program
    .command("uninstall")
    .description("Take the service of systemd away again; the data stay (root)")
    .option("--purge", "remove data, configuration, flows and the user as well")
    .option("--dry-run", "print what would be done")
    .action(async (options) => (await import("./install.ts")).uninstall(options));
}
