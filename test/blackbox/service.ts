import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { send, type Answer, type Origin } from "./client.ts";
import { alone, openCluster, type Serving } from "./cluster.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { endWithProcess } from "../end-with-process.ts";
import { HUNG_MS } from "../hung.ts";
import { poll } from "./scenario.ts";
import { environment, isOnPostgres, openTarget, type Target } from "./target.ts";

export const ADMIN_PASSWORD = "correct horse battery staple 7";

export interface ServiceOptions {
  /** Members of flowhook.yaml beside the harness's own. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Names of files in `flows/`, without extension, to be copied into PLUGINS_DIR. */
  readonly flows?: readonly string[];
  /** Paths of other files to be copied there. */
  readonly plugins?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The path under which BASE_URL puts the service, for example `/flowhook`. */
  readonly prefix?: string;
  readonly target?: Target;
}

export interface WebhookOptions {
  readonly key?: string | null;
  readonly require_login?: boolean;
  readonly is_enabled?: boolean;
  readonly is_productive?: boolean;
  readonly sync_mode?: "redirect" | "hold";
  readonly default_mode?: "sync" | "async";
  readonly async_status?: number;
  readonly methods?: readonly string[];
  readonly max_body_bytes?: number;
  readonly allowed_addresses?: readonly string[];
  readonly idempotency?: object | null;
  readonly limits?: object | null;
  readonly cors?: object | null;
  readonly response_headers?: Readonly<Record<string, string>>;
  readonly input_check?: "run" | "refuse";
  readonly signature?: object | null;
  /** Members that need the others. */
  readonly later?: object;
}

export interface ApiAnswer {
  readonly status: number;
  /** The parsed body; null without one. */
  readonly body: Json;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Service {
  readonly origin: Origin;
  readonly url: string;
  readonly prefix: string;
  readonly directory: string;
  readonly target: Target;
  /** Of the first node where there are several. */
  readonly pid: number;
  /** The login token of the administrator. */
  token(): string;
  login(userName?: string, password?: string): Promise<string>;
  api(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiAnswer>;
  createWebhook(name: string, flow: string, options?: WebhookOptions): Promise<void>;
  /** Takes up what was changed in PLUGINS_DIR; resolves once each node serves it. */
  reloadFlows(): Promise<void>;
  /** Whether each connection from now on goes to one node alone, where there are several. */
  pin(isPinned: boolean): void;
  /** Throws when a process that was started has ended or does not answer. */
  assertAlive(): Promise<void>;
  /** Everything that the service printed. */
  logs(): string;
  /** SIGTERM; resolves with the exit code after the files were removed, unless kept. */
  stop(options?: { keepFiles?: boolean }): Promise<number | null>;
}

const HARNESS_CONFIG = {
  LISTEN_PORT: 0,
  LOG_FORMAT: "json",
  SHUTDOWN_DELAY_SEC: 0,
  SHUTDOWN_GRACE_SEC: 1,
};

/** Starts the target's `serve` in a folder of its own and waits until it listens. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const target = options.target ?? openTarget();
  const directory = await openFolder(options, target);
  const env = environment({ FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD, ...options.env });
  const start = (folder: string) => launch(target, folder, ["serve"], env);
  try {
    const serving =
      target.name === "cluster"
        ? await openCluster(directory, start, ({ child }) => terminate(child))
        : alone(await start(directory));
    const service = toService(options, target, directory, serving);
    await readyOrStop(service, async () => {
      await service.login();
      await service.untilShared();
    });
    return service;
  } catch (error) {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    throw error;
  }
}

/** The key of the configuration for one more database, where the target has not the default's. */
export async function databaseFor({ name }: Target): Promise<Record<string, string>> {
  if (!isOnPostgres(name)) return {};
  server ??= openPostgres();
  return { DATABASE_URL: await (await server).createDatabase() };
}

/** One for the process, which scripts/test.ts has opened for all. */
let server: Promise<PostgresServer> | null = null;

async function readyOrStop(service: Service, prepare: () => Promise<void>): Promise<void> {
  try {
    await prepare();
  } catch (error) {
    await service.stop();
    throw error;
  }
}

async function openFolder(options: ServiceOptions, target: Target): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), "flowhook-blackbox-")));
  await mkdir(join(directory, "plugins"));
  await mkdir(join(directory, "data"));
  const config = { ...HARNESS_CONFIG, ...(await databaseFor(target)), ...options.config };
  // JSON is YAML: no printer is needed.
  await writeFile(join(directory, "flowhook.yaml"), `${JSON.stringify(config, null, 2)}\n`);
  const flows = (options.flows ?? []).map((flow) =>
    fileURLToPath(new URL(`flows/${flow}.ts`, import.meta.url)),
  );
  for (const source of [...flows, ...(options.plugins ?? [])]) {
    await cp(source, join(directory, "plugins", basename(source)));
  }
  return directory;
}

export interface Running {
  readonly child: ChildProcess;
  readonly origin: Origin;
  readonly url: string;
  logs(): string;
}

/** A test that is ended before its end leaves none behind. */
const running = new Set<ChildProcess>();
endWithProcess(() => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Starts a server and resolves when it has printed where it listens.
 *
 * @param detached whether it leads a group of processes, which can be signalled as a whole
 */
export async function launch(
  target: Target,
  directory: string,
  args: readonly string[],
  env: Record<string, string>,
  detached = false,
): Promise<Running> {
  const [program, ...leading] = target.command;
  const child = spawn(program, [...leading, ...args], { cwd: directory, env, detached });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const printed: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => printed.push(text));
  const logs = () => printed.join("");
  try {
    const url = await listeningUrl(child, logs);
    const { hostname, port } = new URL(url);
    return { child, url, logs, origin: { host: hostname, port: Number(port) } };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

function listeningUrl(child: ChildProcess, logs: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail("did not listen in time"), HUNG_MS);
    function fail(reason: string): void {
      clearTimeout(timer);
      reject(new Error(`The service ${reason}; it printed:\n${logs()}`));
    }
    child.once("error", (error) => fail(`could not be started (${error.message})`));
    child.once("exit", (code, signal) => fail(`ended with ${code ?? signal}`));
    child.stdout?.on("data", () => {
      const url = findUrl(logs());
      if (url === null) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}

function findUrl(text: string): string | null {
  for (const line of text.split("\n")) {
    if (!line.includes('"Listening')) continue;
    try {
      const entry = JSON.parse(line) as { msg?: string; url?: string };
      if (entry.msg?.startsWith("Listening") === true && entry.url !== undefined) return entry.url;
    } catch {
      // A line that has not come whole yet.
    }
  }
  return null;
}

function toService(
  options: ServiceOptions,
  target: Target,
  directory: string,
  serving: Serving<Running>,
): Service & { untilShared(): Promise<void> } {
  const { origin, nodes } = serving;
  const prefix = options.prefix ?? "";
  let token = "";

  async function login(userName = "admin", password = ADMIN_PASSWORD): Promise<string> {
    const answer = await api("POST", "/auth/login", { user_name: userName, password });
    if (answer.status !== 200) throw new Error(`Login failed: ${answer.status} ${answer.text}`);
    const { token: issued } = answer.body as { token: string };
    if (userName === "admin") token = issued;
    return issued;
  }

  const api: Service["api"] = (...request) => apiAt(origin, ...request);

  async function apiAt(
    at: Origin,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiAnswer> {
    const answer = await send(at, {
      method,
      target: `${prefix}/api/latest${path}`,
      headers: {
        ...(token === "" ? {} : { "x-service-token": token }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return toApiAnswer(answer);
  }

  async function listFlows(node: Running): Promise<string> {
    const answer = await apiAt(node.origin, "GET", "/flow");
    expectStatus(answer, 200, "Listing the flows");
    const { items } = answer.body as { items: { name: string; version: string }[] };
    return items.map(({ name, version }) => `${name} ${version}`).join("\n");
  }

  /** The others borrow what the folder of the first has. */
  async function untilShared(): Promise<void> {
    const [first, ...others] = nodes;
    if (others.length === 0) return;
    const offered = await listFlows(first);
    await poll("all nodes to serve the same flows", async () => {
      const served = await Promise.all(others.map(listFlows));
      return served.every((flows) => flows === offered) ? true : null;
    });
  }

  async function reloadFlows(): Promise<void> {
    const reloaded = await apiAt(nodes[0].origin, "POST", "/flow/reload");
    expectStatus(reloaded, 200, "Reloading the flows");
    await untilShared();
  }

  return {
    origin,
    url: `http://${origin.host}:${origin.port}${prefix}`,
    prefix,
    directory,
    target,
    pid: nodes[0].child.pid ?? 0,
    token: () => token,
    login,
    api,
    createWebhook: (name, flow, webhook = {}) => createWebhook(api, name, flow, webhook),
    reloadFlows,
    untilShared,
    pin: serving.pin,
    assertAlive: async () => {
      for (const node of nodes) await assertAlive(node, prefix);
    },
    logs: serving.logs,
    stop: (how) => stop(serving, directory, how?.keepFiles === true),
  };
}

function toApiAnswer(answer: Answer): ApiAnswer {
  const isJson = /json/.test(answer.headers["content-type"] ?? "");
  const body = isJson && answer.text !== "" ? (JSON.parse(answer.text) as Json) : null;
  return { status: answer.status, headers: answer.headers, text: answer.text, body };
}

async function createWebhook(
  api: Service["api"],
  name: string,
  flow: string,
  {
    is_enabled = true,
    key = null,
    require_login = false,
    signature = null,
    allowed_addresses = [],
    later,
    ...fields
  }: WebhookOptions,
): Promise<void> {
  const created = await api("POST", "/webhook", { name, flow, ...fields });
  expectStatus(created, 201, `Creating the webhook "${name}"`);
  const changed = await api("PUT", `/webhook/${encodeURIComponent(name)}/authentication`, {
    password: ADMIN_PASSWORD,
    is_enabled,
    require_login,
    key,
    ...(signature === null ? {} : { signature }),
    ...(allowed_addresses.length === 0 ? {} : { allowed_addresses }),
  });
  expectStatus(changed, 200, `Setting the authentication of the webhook "${name}"`);
  if (later === undefined) return;
  const patched = await api("PATCH", `/webhook/${encodeURIComponent(name)}`, later);
  expectStatus(patched, 200, `Setting more of the webhook "${name}"`);
}

function expectStatus(answer: ApiAnswer, status: number, act: string): void {
  if (answer.status !== status) throw new Error(`${act} failed: ${answer.status} ${answer.text}`);
}

async function assertAlive(running: Running, prefix: string): Promise<void> {
  const { exitCode, signalCode } = running.child;
  if (exitCode !== null || signalCode !== null) {
    throw new Error(`The server has ended (${exitCode ?? signalCode}):\n${running.logs()}`);
  }
  const answer = await send(running.origin, { target: `${prefix}/health/live` });
  if (answer.status !== 200) throw new Error(`/health/live answered ${answer.status}`);
}

async function stop(
  serving: Serving<Running>,
  directory: string,
  keepFiles: boolean,
): Promise<number | null> {
  const codes = await Promise.all(serving.nodes.map(({ child }) => terminate(child)));
  await serving.close();
  if (!keepFiles) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  const failed = codes.filter((code) => code !== 0);
  return failed.length === 0 ? 0 : (failed[0] ?? null);
}

/** SIGTERM; resolves with the exit code. One that does not end in time is killed, and is an error. */
export async function terminate(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = child.kill("SIGKILL");
  }, HUNG_MS);
  await exited;
  clearTimeout(timer);
  if (isLate) throw new Error(`The service had not ended ${HUNG_MS} ms after SIGTERM`);
  return child.exitCode;
}
