import { resolve } from "node:path";
import { VERSION } from "../assets/read.ts";
import { logStrayErrors } from "../server/stray-errors.ts";
import type { Service } from "../server/service.ts";
import { findWebhook } from "../server/store/webhooks.ts";
import { now } from "../shared/clock.ts";
import { StartError } from "../shared/errors.ts";
import { openLogFor, type LogEntry } from "../shared/log.ts";
import { nearestWord } from "../shared/nearest.ts";
import { forgetConnection, keepConnection } from "./author-connection.ts";
import { readAuthorFolder } from "./author-folder.ts";
import { openAuthorService, type AuthorOptions, type AuthorService } from "./author-service.ts";
import { CommandError } from "./command-error.ts";
import { openDevScreen, type DevScreen } from "./dev-screen.ts";
import { putEnabledWebhook } from "./enabled-webhook.ts";
import { watchStopSignals } from "./stop-signals.ts";
import { pad, toLine, widthOf } from "./table.ts";

export interface DevOptions {
  readonly port?: number;
  /** Requests for it are answered as well: the name of a tunnel. */
  readonly host?: string;
  /** Name of the flow to look at with a debugger. */
  readonly inspect?: string;
  readonly inspectPort?: number;
}

/** Where debuggers look. */
const DEBUGGER_PORT = 9229;

/** Serves a folder for its author alone, and shows each call; until SIGTERM or Ctrl-C. */
export async function dev(folder: string, options: DevOptions): Promise<void> {
  if (options.inspect !== undefined && "Deno" in globalThis)
    throw new CommandError("--inspect needs Node: use the binary, or node flowhook.mjs", 2);
  if (options.inspect === undefined && options.inspectPort !== undefined)
    throw new CommandError("Found --inspect-port alone, expected --inspect FLOW with it", 2);
  const loaded = readAuthorFolder(folder);
  const { config } = loaded;
  const write = (text: string): void => void process.stdout.write(text);
  const screen = openDevScreen(config.PLUGINS_DIR, write, now);
  const follower = openFollower(screen);
  const log = openLogFor("info", (entry) => follower.take(entry));
  logStrayErrors(log);
  for (const warning of loaded.warnings) log.warn(warning);
  const signals = watchStopSignals(log, config);
  const { host, inspect, inspectPort = DEBUGGER_PORT, port } = options;
  const debug = inspect === undefined ? undefined : { flow: inspect, port: inspectPort };
  const author = await open(loaded, {
    log,
    screen,
    port,
    debug,
    hosts: host === undefined ? [] : [host],
  });
  const { service, token } = author;
  signals.service = service;
  if (inspect !== undefined) await requireFlow(service, inspect);
  keepConnection(config.DATA_DIR, { url: service.url, token });
  const flows = service.catalog.list();
  for (const { name } of flows) await openWebhook(service, name);
  write(describe(author, resolve(folder), config.PLUGINS_DIR, debug));
  const told = new Set(flows.flatMap(({ name, state }) => (state === "broken" ? [] : [name])));
  follower.follow(async (entry) => {
    const { flow = "", msg } = entry;
    // First: what is shown can be called.
    await openWebhook(service, flow).finally(() => screen.take(entry));
    if (msg !== "Flow is ready" || told.has(flow)) return;
    told.add(flow);
    write(`          ${toCurl(service.url, flow)}\n`);
  });
  await signals.first;
  forgetConnection(config.DATA_DIR);
  await service.stop(signals.second);
}

/** @throws CommandError where there is none of that name; the service is stopped then */
async function requireFlow(service: Service, name: string): Promise<void> {
  if (service.catalog.find(name) !== undefined) return;
  const known = service.catalog.list().map((flow) => flow.name);
  await service.stop(Promise.resolve());
  const nearest = nearestWord(name, known);
  const hint =
    nearest === null ? `There are: ${known.join(", ") || "none"}` : `Did you mean "${nearest}"?`;
  throw new CommandError(`There is no flow "${name}". ${hint}`);
}

/** Takes what the log says of a flow that was taken up, or broke. */
type TakeChange = (entry: LogEntry) => Promise<void>;

/** Lets nothing be shown before the greeting, which tells of all flows. */
function openFollower(screen: DevScreen) {
  let takeChange: TakeChange | null = null;
  return {
    take(entry: LogEntry): void {
      const isOfFlow = entry.msg.startsWith("Flow is ");
      if (takeChange === null && isOfFlow) return;
      if (takeChange === null || !isOfFlow || entry.msg === "Flow is gone")
        return screen.take(entry);
      takeChange(entry).catch((error: unknown) =>
        screen.take({ level: "error", msg: `Cannot create its webhook: ${String(error)}` }),
      );
    },
    follow(take: TakeChange): void {
      takeChange = take;
    },
  };
}

interface OpenOptions extends Pick<AuthorOptions, "log" | "debug" | "hosts"> {
  readonly screen: DevScreen;
  readonly port: number | undefined;
}

async function open(
  loaded: Parameters<typeof openAuthorService>[0],
  { port, screen, ...options }: OpenOptions,
): Promise<AuthorService> {
  const { log } = options;
  const wanted = port ?? loaded.config.LISTEN_PORT;
  try {
    return await openAuthorService(loaded, { ...options, port: wanted, onlooker: screen });
  } catch (error) {
    if (error instanceof StartError) throw new CommandError(error.message, error.exitCode);
    const { code, message, syscall } = error as NodeJS.ErrnoException;
    if (port !== undefined && syscall === "listen")
      throw new CommandError(
        `Cannot listen on ${loaded.config.LISTEN_HOST}:${port}: ${message}. ` +
          "Name another port with --port: 0 takes any free port",
      );
    if (code !== "EADDRINUSE") throw error;
    log.warn(`Port ${wanted} is taken: it listens on another one`);
    return openAuthorService(loaded, { ...options, port: 0, onlooker: screen });
  }
}

/** Of a flow that is broken as well: its calls say why. */
async function openWebhook({ store }: Service, flow: string): Promise<void> {
  if ((await findWebhook(store, flow)) !== undefined) return;
  await putEnabledWebhook(store, { flow, description: "Of flowhook dev", key: null });
}

function toCurl(url: string, flow: string): string {
  // One sign of a shell is left as it is in a URL.
  const name = encodeURIComponent(flow).replaceAll("'", "%27");
  return `curl -L '${url}/api/latest/webhook/${name}/call'`;
}

function describe(
  { service, password }: AuthorService,
  folder: string,
  plugins_dir: string,
  debug: AuthorOptions["debug"],
): string {
  const { url, catalog } = service;
  const rows = [
    ["Open", `${url}/`],
    ["Log in", `as "admin" with ${password} (until the next start)`],
    ["Flows", plugins_dir],
    ...(debug === undefined ? [] : [["Debug", describeDebugger(debug)]]),
    ["Stop", "Ctrl-C"],
  ];
  const head = rows.map(([name = "", text]) => `  ${name.padEnd(8)}${text}\n`).join("");
  const flows = catalog.list();
  const width = Math.max(0, ...flows.map(({ name }) => widthOf(toLine(name))));
  const lines = flows.map(
    ({ name, state, error }) =>
      `  ${pad(toLine(name), width)}  ${
        state === "broken" ? `broken: ${toLine(error?.message ?? "")}` : toCurl(url, name)
      }\n`,
  );
  const empty = "  No flows yet. In another terminal: flowhook flow new hello\n";
  return `\n  Flowhook ${VERSION} for ${folder}\n\n${head}\n${lines.join("") || empty}\n`;
}

function describeDebugger({ flow, port }: NonNullable<AuthorOptions["debug"]>): string {
  return `attach to 127.0.0.1:${port}: calls of "${flow}" wait until a debugger is there`;
}
