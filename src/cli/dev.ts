import { resolve } from "node:path";
import { VERSION } from "../assets/read.ts";
import { logStrayErrors } from "../server/stray-errors.ts";
import type { Service } from "../server/service.ts";
import { findWebhook } from "../server/store/webhooks.ts";
import { now } from "../shared/clock.ts";
import { StartError } from "../shared/errors.ts";
import { openLogFor, type Log } from "../shared/log.ts";
import { forgetConnection, keepConnection } from "./author-connection.ts";
import { readAuthorFolder } from "./author-folder.ts";
import { openAuthorService, type AuthorService } from "./author-service.ts";
import { CommandError } from "./command-error.ts";
import { openDevScreen, type DevScreen } from "./dev-screen.ts";
import { putEnabledWebhook } from "./enabled-webhook.ts";
import { watchStopSignals } from "./stop-signals.ts";
import { toLine } from "./table.ts";

export interface DevOptions {
  readonly port?: number;
}

/** Serves a folder for its author alone, and shows each call; until SIGTERM or Ctrl-C. */
export async function dev(folder: string, options: DevOptions): Promise<void> {
  const loaded = readAuthorFolder(folder);
  const { config } = loaded;
  const write = (text: string): void => void process.stdout.write(text);
  const screen = openDevScreen(config.PLUGINS_DIR, write, now);
  const follower = openFollower(screen);
  const log = openLogFor("info", (entry) => follower.take(entry));
  logStrayErrors(log);
  for (const warning of loaded.warnings) log.warn(warning);
  const signals = watchStopSignals(log, config.SHUTDOWN_GRACE_SEC);
  const author = await open(loaded, { log, screen, port: options.port });
  const { service, token } = author;
  signals.service = service;
  keepConnection(config.DATA_DIR, { url: service.url, token });
  for (const { name } of service.catalog.list()) await openWebhook(service, name);
  write(describe(author, resolve(folder), config.PLUGINS_DIR));
  follower.follow(async (flow) => {
    if (await openWebhook(service, flow)) write(`          ${toCurl(service.url, flow)}\n`);
  });
  await signals.first;
  forgetConnection(config.DATA_DIR);
  await service.stop(signals.second);
}

/** Lets nothing be shown before the greeting, which tells of all flows. */
function openFollower(screen: DevScreen) {
  let openFor: ((flow: string) => Promise<void>) | null = null;
  return {
    take(entry: Parameters<DevScreen["take"]>[0]): void {
      const isOfFlow = entry.msg.startsWith("Flow is ");
      if (openFor === null && isOfFlow) return;
      screen.take(entry);
      if (openFor !== null && entry.msg === "Flow is ready")
        openFor(entry.flow ?? "").catch((error: unknown) =>
          screen.take({ level: "error", msg: `Cannot create its webhook: ${String(error)}` }),
        );
    },
    follow(open: (flow: string) => Promise<void>): void {
      openFor = open;
    },
  };
}

async function open(
  loaded: Parameters<typeof openAuthorService>[0],
  { log, screen, port }: { log: Log; screen: DevScreen; port: number | undefined },
): Promise<AuthorService> {
  const wanted = port ?? loaded.config.LISTEN_PORT;
  try {
    return await openAuthorService(loaded, { log, port: wanted, onlooker: screen });
  } catch (error) {
    if (error instanceof StartError) throw new CommandError(error.message);
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE") throw error;
    if (port !== undefined) throw new CommandError(`Cannot listen on port ${port}: ${message}`);
    log.warn(`Port ${wanted} is taken: it listens on another one`);
    return openAuthorService(loaded, { log, port: 0, onlooker: screen });
  }
}

/** @returns whether there was none */
async function openWebhook({ store }: Service, flow: string): Promise<boolean> {
  if ((await findWebhook(store, flow)) !== undefined) return false;
  await putEnabledWebhook(store, { flow, description: "Of flowhook dev", key: null });
  return true;
}

function toCurl(url: string, flow: string): string {
  return `curl -L '${url}/api/latest/webhook/${encodeURIComponent(flow)}/call'`;
}

function describe(
  { service, password }: AuthorService,
  folder: string,
  plugins_dir: string,
): string {
  const { url, catalog } = service;
  const rows = [
    ["Open", `${url}/`],
    ["Log in", `as "admin" with ${password} (until the next start)`],
    ["Flows", plugins_dir],
    ["Stop", "Ctrl-C"],
  ];
  const head = rows.map(([name = "", text]) => `  ${name.padEnd(8)}${text}\n`).join("");
  const flows = catalog.list();
  const width = Math.max(0, ...flows.map(({ name }) => name.length));
  const lines = flows.map(
    ({ name, state, error }) =>
      `  ${name.padEnd(width)}  ${
        state === "broken" ? `broken: ${toLine(error?.message ?? "")}` : toCurl(url, name)
      }\n`,
  );
  const empty = "  No flows yet. In another terminal: flowhook flow new hello\n";
  return `\n  Flowhook ${VERSION} for ${folder}\n\n${head}\n${lines.join("") || empty}\n`;
}
