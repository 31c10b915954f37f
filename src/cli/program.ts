import { tmpdir } from "node:os";
import { Command, CommanderError } from "commander";
import { VERSION } from "../assets/read.ts";
import { ConfigError } from "../server/config/config-error.ts";
import { isPassing } from "../server/store/store-error.ts";
import { StartError } from "../shared/errors.ts";
import { printAlerts } from "./alerts.ts";
import { call } from "./call.ts";
import { printDashboard } from "./dashboard.ts";
import { writeTypes } from "./declarations.ts";
import { printCompletion } from "./completion.ts";
import { printDocs } from "./docs.ts";
import { addExecutionCommands } from "./execution.ts";
import { CommandError } from "./command-error.ts";
import { addFlowCommands } from "./flow.ts";
import { addHelp } from "./help.ts";
import { init } from "./init.ts";
import { toList, toPort } from "./input.ts";
import { printLicenses } from "./licenses.ts";
import { login, logout } from "./login.ts";
import { addNodesCommand } from "./nodes.ts";
import { addOperatingCommands } from "./operating.ts";
import { addPeopleCommands } from "./people.ts";
import { addSecretCommands } from "./secret.ts";
import { addSettingCommands } from "./setting.ts";
import { watchStandardOutput } from "./standard-output.ts";
import { toLines } from "./table.ts";
import { addWebhookCommands } from "./webhook.ts";

/** Options that many commands have: flags and meaning. */
const CONFIG = ["--config <file>", "configuration file (default: ./flowhook.yaml)"] as const;
const URL = [
  "--url <url>",
  "the service (default: FLOWHOOK_URL, the last login, or this folder's configuration)",
] as const;

/**
 * The command table (contract, section 6); groups are in the file of their noun. What needs the
 * service or the store is loaded when it runs: the other commands start without them.
 */
export function createProgram(): Command {
  const program = new Command("flowhook")
    .description("Inbound REST endpoints that start executions of flows")
    .version(VERSION, "-V, --version", "print the version")
    .exitOverride()
    .configureHelp({ sortSubcommands: false })
    .showHelpAfterError("Run with --help for the usage");
  addServiceCommands(program);
  addFlowCommands(program, URL, CONFIG);
  addWebhookCommands(program, URL);
  addExecutionCommands(program, URL);
  addSecretCommands(program, URL);
  addSettingCommands(program, URL);
  addCallCommand(program);
  addLoginCommands(program);
  addPeopleCommands(program, CONFIG);
  addOperatingCommands(program, CONFIG);
  addNodesCommand(program, URL);
  addMonitoringCommands(program);
  addReadingCommands(program);
  addHelp(program);
  addCertificates(program);
  return program;
}

/** For each command that speaks to a service. */
function addCertificates(command: Command): void {
  if (command.options.some(({ long }) => long === "--url"))
    command.option(
      "--cacert <file>",
      "authorities of an HTTPS service, PEM (default: SSL_CERT_FILE, or the system's)",
    );
  for (const one of command.commands) addCertificates(one);
}

function addServiceCommands(program: Command): void {
  program
    .command("serve")
    .description("Run the service")
    .option(...CONFIG)
    .option("--demo", "write example flows into an empty plugins folder, with a webhook for each")
    .action(async (options) => (await import("./serve.ts")).serve(options));
  program
    .command("dev")
    .description("Serve a folder of flows for its author alone, and show each call with its log")
    .argument("[dir]", "the folder of the configuration, or of the flows", ".")
    .option("--port <port>", "the port on loopback (default: LISTEN_PORT, or a free one)", toPort)
    .option("--host <name>", "answer requests for this host as well, e.g. of a tunnel to it")
    .option("--inspect <flow>", "run this flow under a debugger: its calls wait until one attaches")
    .option("--inspect-port <port>", "the debugger's port on loopback (default: 9229)", toPort)
    .action(async (dir, options) => (await import("./dev.ts")).dev(dir, options));
  program
    .command("init")
    .description("Set up a folder to serve from; nothing that is there is overwritten")
    .argument("[dir]", "the folder", ".")
    .action(init);
  program
    .command("types")
    .description("Write the declaration files that make editors understand import 'flowhook'")
    .argument("[dir]", "the folder of your tsconfig.json", ".")
    .action(writeTypes);
  program
    .command("check")
    .description("Check the configuration and every flow")
    .option(...CONFIG)
    .option("--json", "print JSON")
    .action(async (options) => (await import("./check.ts")).check(options));
}

function addCallCommand(program: Command): void {
  program
    .command("call")
    .description("Call a webhook, following up to 10 redirects within 30 s")
    .argument("<name>", "name of the webhook, with a sub-path if wanted: name/sub/path")
    .option("-X, --method <method>", "method (default: POST with data, GET without)")
    .option("-d, --data <json>", "body; @file reads it from a file, @- from standard input")
    .option("-H, --header <header>", "header, as 'Name: value'; again for more", toList)
    .option("-q, --query <pair>", "query parameter, as name=value; again for more", toList)
    .option("--key <key>", "API key")
    .option("--sign", "sign it as the webhook's sender would, with a secret that is asked for")
    .option("--secret-stdin", "read that secret from standard input")
    .option("--async", "do not wait: print the execution's id")
    .option(...URL)
    .action(call);
}

function addLoginCommands(program: Command): void {
  program
    .command("login")
    .description("Log in to a service, and keep the token for the other commands")
    .argument("[url]", "the service")
    .option("--user <name>", "user name (asked for without it)")
    .option("--password-stdin", "read the password from standard input")
    .option(...URL)
    .action(login);
  program
    .command("logout")
    .description("End the kept login")
    .argument("[url]", "the service")
    .option(...URL)
    .action(logout);
}

function addMonitoringCommands(program: Command): void {
  program
    .command("dashboard")
    .description("Print a dashboard for Grafana, to be imported there")
    .action(printDashboard);
  program.command("alerts").description("Print alert rules for Prometheus").action(printAlerts);
}

function addReadingCommands(program: Command): void {
  program
    .command("docs")
    .description("Print a page of the documentation, or the list of them")
    .argument("[topic]", "name of the page")
    .option("--search <words>", "print the sections that have these words")
    .option("--json", "print JSON")
    .action(printDocs);
  program
    .command("completion")
    .description("Print a script that completes commands and options in a shell")
    .argument("<shell>", "bash, zsh or fish")
    .action((shell) => printCompletion(program, shell));
  program
    .command("licenses")
    .description("Print the licences of Flowhook and of the software that it carries")
    .action(printLicenses);
  program
    .command("version")
    .description("Print the version")
    .action(() => void process.stdout.write(`${VERSION}\n`));
}

/** @returns the exit code: 0, 1 (the act failed), 2 (usage), 78 (configuration) */
export async function runCommand(args: readonly string[]): Promise<number> {
  const output = watchStandardOutput();
  const code = await runProgram(args);
  const lost = await output.end();
  if (lost === null) return code;
  process.stderr.write(`Cannot write the output: ${lost}\n`);
  return code || 1;
}

async function runProgram(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const known = toKnown(error);
  process.stderr.write(`${toLines(known?.message ?? describe(error))}\n`);
  return known?.exitCode ?? 1;
}

/** The faults that people can mend: one line, no stack. */
function toKnown(error: unknown): { message: string; exitCode: number } | null {
  const limit = limitOf(error);
  if (limit !== null) return { message: limit, exitCode: 1 };
  if (isSystemError(error)) return { message: explain(error), exitCode: 1 };
  if (error instanceof CommandError) return error;
  if (error instanceof ConfigError) return { message: error.message, exitCode: 78 };
  if (error instanceof StartError) return error;
  if (isPassing(error))
    return { message: `Cannot use the database now: ${(error as Error).message}`, exitCode: 1 };
  return null;
}

/** What the system allows a process has come to its end: of files, or of threads and processes. */
function limitOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const { code, syscall = "", message } = error as NodeJS.ErrnoException;
  if (code === "EMFILE" || code === "ENFILE")
    return (
      `Cannot go on: ${message}. Raise how many files may be open: ulimit -n, LimitNOFILE of a ` +
      `unit, --ulimit nofile of a container`
    );
  const isThread = code === "ERR_WORKER_INIT_FAILED" && message.includes("EAGAIN");
  if (!isThread && !(code === "EAGAIN" && syscall.startsWith("spawn"))) return null;
  return (
    `Cannot go on: ${message}. Raise how many threads and processes there may be: ulimit -u, ` +
    `TasksMax of a unit, --pids-limit of a container`
  );
}

/** What the system refuses, e.g. to write into a folder or to a disk that is full. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error && "errno" in error;
}

function explain(error: NodeJS.ErrnoException): string {
  return `Cannot go on: ${error.message}${adviseOn(error)}`;
}

function adviseOn({ code, syscall, path = "" }: NodeJS.ErrnoException): string {
  if (code === "ENOSPC")
    return ". Free some space on that disk: flowhook doctor says how much is left";
  if (syscall === "mkdtemp" && path.startsWith(tmpdir()))
    return ". Name another folder with TMPDIR";
  return syscall === "uv_os_homedir" ? ". Set HOME" : "";
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
