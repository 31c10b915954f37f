import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { send, type Answer, type Call, type Origin } from "../blackbox/client.ts";
import { ADMIN_PASSWORD, launch, terminate, type Running } from "../blackbox/service.ts";
import { environment, openTarget, type Target } from "../blackbox/target.ts";
import { figure } from "./sizes.ts";

/**
 * A service for fault injection: it can be killed and started again on the same folder, and it
 * counts the deaths that no test asked for.
 */
export interface TestService {
  readonly directory: string;
  readonly data: string;
  readonly plugins: string;
  readonly target: Target;
  readonly origin: Origin;
  readonly pid: number;
  api(method: string, path: string, body?: unknown, token?: string): Promise<Answer>;
  call(webhook: string, path?: string, call?: Partial<Call>): Promise<Answer>;
  createWebhook(name: string, flow: string, fields?: object): Promise<void>;
  /** Process ids of the runners, newest last. */
  runners(): number[];
  assertAlive(): Promise<void>;
  /** SIGKILL of the server; resolves when it has ended. */
  kill(): Promise<void>;
  /** Changes members of flowhook.yaml; the next start reads them. */
  configure(config: Readonly<Record<string, unknown>>): Promise<void>;
  /** Resolves when it listens; the time that took, in milliseconds. */
  start(): Promise<number>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  signal(name: NodeJS.Signals): void;
  /** To the server and all processes of its group, as a terminal does; needs `leads_group`. */
  signalGroup(name: NodeJS.Signals): void;
  /** Resolves with the exit code of a server that is to end by itself. */
  expectEnd(): Promise<number | null>;
  /** Resolves with the exit code when the server has ended by itself or by a signal. */
  ended(): Promise<number | null>;
  /** What all starts have printed. */
  logs(): string;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TestServiceOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Names of files of test/faults/flows, copied into PLUGINS_DIR. */
  readonly flows?: readonly string[];
  /** Files written into PLUGINS_DIR. */
  readonly files?: Readonly<Record<string, string>>;
  /** Called with the folder before the first start. */
  readonly prepare?: (directory: string) => Promise<void> | void;
  readonly start?: boolean;
  /** Whether the server leads a group of processes of its own. */
  readonly leads_group?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** Another program than that of all tests. */
  readonly target?: Target;
}

/** The built binary, unless FLOWHOOK_TARGET says otherwise; FLOWHOOK_BINARY names another copy. */
export function faultsTarget(): Target {
  const copy = process.env["FLOWHOOK_BINARY"];
  if (copy !== undefined) return { name: "binary", command: [copy], skip: null };
  return openTarget(process.env["FLOWHOOK_TARGET"] ?? "binary");
}

const CONFIG = {
  LISTEN_PORT: 0,
  LOG_FORMAT: "json",
  LOG_LEVEL: "info",
  SHUTDOWN_DELAY_SEC: 0,
  SHUTDOWN_GRACE_SEC: 1,
  DEVELOPMENT_INACTIVITY_SEC: 86_400,
};

/** Servers that a test ended, or let end: every other death is a fault. */
const asked = new WeakSet<ChildProcess>();
let deaths = 0;

/** Whatever family a file tests: its servers live until it ends them. */
process.once("exit", () => {
  figure("deaths of the server, other than by the test's own signal", deaths);
  if (deaths > 0) process.exitCode = 1;
});

function watchForDeath(child: ChildProcess): void {
  child.once("exit", () => {
    if (!asked.has(child)) deaths += 1;
  });
}

export async function openTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const target = options.target ?? faultsTarget();
  const directory = await realpath(await mkdtemp(join(tmpdir(), "flowhook-faults-")));
  await furnish(directory, options);
  const service = toTestService(target, directory, options);
  if (options.start === false) return service;
  try {
    await service.start();
  } catch (error) {
    await service[Symbol.asyncDispose]();
    throw error;
  }
  return service;
}

async function furnish(directory: string, options: TestServiceOptions): Promise<void> {
  await mkdir(join(directory, "plugins"));
  await mkdir(join(directory, "data"));
  await mkdir(join(directory, "out"));
  const config = { ...CONFIG, ALLOW_WRITE: [join(directory, "out")], ...options.config };
  await writeFile(join(directory, "flowhook.yaml"), JSON.stringify(config));
  for (const flow of options.flows ?? [])
    await cp(
      fileURLToPath(new URL(`flows/${flow}.ts`, import.meta.url)),
      join(directory, "plugins", `${flow}.ts`),
    );
  for (const [name, text] of Object.entries(options.files ?? {}))
    await writeFile(join(directory, "plugins", name), text.replaceAll("<out>", `${directory}/out`));
  await options.prepare?.(directory);
}

function toTestService(
  target: Target,
  directory: string,
  options: TestServiceOptions,
): TestService {
  const { leads_group = false } = options;
  const env = environment({ FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD, ...options.env });
  const printed: (() => string)[] = [];
  let running: Running | null = null;
  let token = "";

  function current(): Running {
    if (running === null) throw new Error("The service was not started");
    return running;
  }

  async function api(method: string, path: string, body?: unknown, as = token): Promise<Answer> {
    const headers: Record<string, string> = as === "" ? {} : { "x-service-token": as };
    if (body !== undefined) headers["content-type"] = "application/json";
    return send(current().origin, {
      method,
      target: `/api/latest${path}`,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
  }

  async function login(): Promise<void> {
    const given = { user_name: "admin", password: ADMIN_PASSWORD };
    const answer = await api("POST", "/auth/login", given, "");
    if (answer.status !== 200) throw new Error(`Login failed: ${answer.status} ${answer.text}`);
    token = (JSON.parse(answer.text) as { token: string }).token;
  }

  async function ended(): Promise<number | null> {
    const { child } = current();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return child.exitCode;
  }

  return {
    directory,
    data: join(directory, "data"),
    plugins: join(directory, "plugins"),
    target,
    get origin() {
      return current().origin;
    },
    get pid() {
      return current().child.pid ?? 0;
    },
    api,
    call: (webhook, path = "", call = {}) =>
      send(current().origin, { target: `/api/latest/webhook/${webhook}/call${path}`, ...call }),
    createWebhook: (name, flow, fields = {}) => createWebhook(api, name, flow, fields),
    runners: () => childrenOf(current().child.pid ?? 0),
    assertAlive: () => assertAlive(current()),
    async kill() {
      const { child } = current();
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`The server had ended before it was killed:\n${tail(current().logs())}`);
      asked.add(child);
      child.kill("SIGKILL");
      await ended();
    },
    async configure(config) {
      const file = join(directory, "flowhook.yaml");
      const before = JSON.parse(await readFile(file, "utf8")) as object;
      await writeFile(file, JSON.stringify({ ...before, ...config }));
    },
    async start() {
      const begun = performance.now();
      running = await launch(target, directory, ["serve"], env, leads_group);
      const took = performance.now() - begun;
      watchForDeath(running.child);
      printed.push(running.logs);
      if (token === "") await login();
      return took;
    },
    stop() {
      asked.add(current().child);
      return terminate(current().child);
    },
    signal(name) {
      asked.add(current().child);
      current().child.kill(name);
    },
    signalGroup(name) {
      if (!leads_group) throw new Error("The group of the server is that of the test");
      asked.add(current().child);
      process.kill(-(current().child.pid as number), name);
    },
    expectEnd() {
      asked.add(current().child);
      return ended();
    },
    ended,
    logs: () => printed.map((logs) => logs()).join(""),
    async [Symbol.asyncDispose]() {
      if (running !== null) {
        asked.add(running.child);
        await terminate(running.child);
      }
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function createWebhook(
  api: TestService["api"],
  name: string,
  flow: string,
  {
    key = null,
    require_login = false,
    ...fields
  }: { key?: string | null; require_login?: boolean },
): Promise<void> {
  const created = await api("POST", "/webhook", { name, flow, ...fields });
  if (created.status !== 201) throw new Error(`POST /webhook: ${created.status} ${created.text}`);
  const change = { password: ADMIN_PASSWORD, is_enabled: true, require_login, key };
  const changed = await api("PUT", `/webhook/${name}/authentication`, change);
  if (changed.status !== 200) throw new Error(`Cannot enable "${name}": ${changed.text}`);
}

async function assertAlive({ child, origin, logs }: Running): Promise<void> {
  const { exitCode, signalCode } = child;
  if (exitCode !== null || signalCode !== null)
    throw new Error(`The server has ended (${exitCode ?? signalCode}):\n${tail(logs())}`);
  const answer = await send(origin, { target: "/health/live" });
  if (answer.status !== 200) throw new Error(`/health/live answered ${answer.status}`);
}

export function tail(text: string, lines = 15): string {
  return text.trimEnd().split("\n").slice(-lines).join("\n");
}

/** Child processes, oldest first; Linux only, as the figures of processes are. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text.split(" ").map(Number).filter(Boolean);
  } catch {
    return [];
  }
}

/** A member of /proc/PID/status: `VmRSS` and its peak `VmHWM` in kB, `Threads`. */
export function processFigure(pid: number, name: "VmRSS" | "VmHWM" | "Threads"): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

/**
 * Time of the processors that a process has taken, or its main thread alone, in milliseconds
 * (proc(5)); it is counted in hundredths of a second.
 */
export function readCpu(pid: number, thread: "all" | "main" = "all"): number {
  const folder = thread === "all" ? `/proc/${pid}` : `/proc/${pid}/task/${pid}`;
  const fields = readFileSync(`${folder}/stat`, "latin1").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** What the server takes of the processors while something is done, in milliseconds. */
export async function cpuOf({ pid }: TestService, act: () => Promise<unknown>): Promise<number> {
  const begun = readCpu(pid);
  await act();
  return readCpu(pid) - begun;
}
