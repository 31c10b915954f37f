import { Command, CommanderError } from "commander";
import { VERSION } from "../assets/read.ts";
import { ConfigError } from "../config/fault.ts";
import { call } from "./call.ts";
import { check } from "./check.ts";
import { CommandFailure } from "./failure.ts";
import { serve } from "./serve.ts";
import { createUser, setPassword } from "./user.ts";

/** The command table (contract, section 6). */
function createProgram(): Command {
  const program = new Command("flowhook")
    .description("Inbound REST endpoints that start executions of flows")
    .exitOverride()
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError("Run with --help for the usage");
  const config = ["--config <file>", "configuration file (default: ./flowhook.yaml)"] as const;

  program
    .command("serve")
    .description("Run the service")
    .option(...config)
    .option("--demo", "write example flows into an empty plugins folder, with a webhook for each")
    .action(serve);
  program
    .command("check")
    .description("Check the configuration and every flow")
    .option(...config)
    .option("--json", "print JSON")
    .action(check);
  program
    .command("call")
    .description("Call a webhook, following up to 10 redirects within 30 s")
    .argument("<name>", "name of the webhook, with a sub-path if wanted: name/sub/path")
    .option("-X, --method <method>", "method (default: POST with data, GET without)")
    .option("-d, --data <json>", "body; @file reads it from a file, @- from standard input")
    .option("-H, --header <header...>", "header, as 'Name: value'")
    .option("-q, --query <pair...>", "query parameter, as name=value")
    .option("--key <key>", "API key")
    .option("--async", "do not wait: print the execution's id")
    .option("--url <url>", "the service (default: FLOWHOOK_URL, else http://127.0.0.1:8080)")
    .action(call);
  const user = program.command("user").description("Users, also of a stopped service");
  user
    .command("create")
    .description("Create a user; the password is read from standard input, or generated")
    .argument("<name>")
    .option(...config)
    .option("--email <email>", "e-mail address", "")
    .option("--role <role...>", "roles", ["viewer"])
    .action(createUser);
  user
    .command("password")
    .description("Set a user's password, read from standard input, or generated")
    .argument("<name>")
    .option(...config)
    .action(setPassword);
  program
    .command("version")
    .description("Print the version")
    .action(() => void process.stdout.write(`${VERSION}\n`));
  for (const command of [...program.commands, ...user.commands]) command.exitOverride();
  return program;
}

/** @returns the exit code: 0, 1 (the act failed), 2 (usage), 78 (configuration) */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: "user" });
    return 0;
  } catch (fault) {
    return report(fault);
  }
}

function report(fault: unknown): number {
  // Commander has printed its message already.
  if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : 2;
  if (fault instanceof ConfigError) {
    process.stderr.write(`${fault.message}\n`);
    return 78;
  }
  if (fault instanceof CommandFailure) {
    process.stderr.write(`${fault.message}\n`);
    return fault.exit_code;
  }
  process.stderr.write(
    `${fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)}\n`,
  );
  return 1;
}
