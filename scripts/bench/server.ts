import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A server under measurement. */
export interface Server {
  readonly url: string;
  /** Where it is called. */
  readonly call: string;
  readonly child: ChildProcess;
  /** Its processes, each with the name of its program. */
  readonly processes: () => ReadonlyMap<number, string>;
  readonly folder: string | null;
  stop(): Promise<void>;
}

const ROOT = join(import.meta.dirname, "../..");
export const BINARY = join(ROOT, "build/flowhook");
export const PASSWORD = "a password for the bench";

export const HELD = { SYNC_MODE: "hold" };

export const ECHO = `export default async function (flow: { input_value: { json: unknown } }) {
  return { echo: flow.input_value.json };
}`;
const SLOW = `export default async function () {
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
}`;

/** The folders of the services; they go with the bench, and so do the processes. */
const FOLDER = mkdtempSync(join(tmpdir(), "flowhook-bench-"));
const started = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of started) child.kill("SIGKILL");
  rmSync(FOLDER, { recursive: true, force: true, maxRetries: 3 });
});
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/** A process that ends with the bench, however that ends. */
export function spawnOwn(program: string, args: readonly string[], options: SpawnOptions) {
  const child = spawn(program, args, options);
  started.add(child);
  child.once("exit", () => started.delete(child));
  return child;
}

/** A floor: a file of this folder. */
export const startFloor = (name: string): Promise<Server> =>
  startProgram((port) => [join(import.meta.dirname, `${name}.ts`), String(port)]);

/** A program for Node.js that answers at "/" once it is ready. */
export async function startProgram(toArguments: (port: number) => string[]): Promise<Server> {
  const port = await freePort();
  const child = spawnOwn("node", toArguments(port), { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${port}/`;
  await untilAnswering(url, child);
  const processes = () => new Map([[child.pid as number, "server"]]);
  return { url, call: url, child, processes, folder: null, stop: () => kill(child) };
}

/** The service with an enabled webhook for each of the flows `echo` and `slow`, unless told otherwise. */
export async function startService(
  config: Record<string, string | number>,
  prepare: (folder: string) => void = () => {},
  webhooks: readonly string[] = ["echo", "slow"],
): Promise<Server> {
  const folder = mkdtempSync(join(FOLDER, "service-"));
  mkdirSync(join(folder, "plugins"));
  writeFileSync(join(folder, "plugins/echo.ts"), ECHO);
  writeFileSync(join(folder, "plugins/slow.ts"), SLOW);
  prepare(folder);
  const env = toEnvironment({ LISTEN_PORT: 0, LOG_FORMAT: "json", ...config });
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawnOwn(BINARY, ["serve"], { cwd: folder, env, stdio: [...stdio] });
  const url = await untilListening(child);
  for (const flow of webhooks) await createWebhook(url, flow);
  return {
    url,
    call: callOf(url, "echo"),
    child,
    folder,
    processes: () => toProcesses(child.pid as number, "server", "runner"),
    async stop() {
      await kill(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toEnvironment(config: Record<string, string | number>): Record<string, string> {
  const entries = Object.entries(config).map(([key, value]) => [`FLOWHOOK_${key}`, String(value)]);
  return { ...(Object.fromEntries(entries) as object), FLOWHOOK_ADMIN_PASSWORD: PASSWORD };
}

function untilListening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("The service ended before it listened")));
    // Read to the end: a full pipe would stop the service.
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const { url } = JSON.parse(line) as { url?: string };
      if (url !== undefined) resolve(url);
    });
  });
}

/** Of each service that was started. */
const tokens = new Map<string, string>();

/** A request to the management API. */
export async function request(url: string, method: string, path: string, body?: object) {
  const answer = await fetch(`${url}/api/latest${path}`, {
    method,
    headers: { "content-type": "application/json", "x-service-token": tokens.get(url) ?? "" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

export async function createWebhook(url: string, flow: string, more: object = {}): Promise<void> {
  const login = { user_name: "admin", password: PASSWORD };
  tokens.set(url, String((await request(url, "POST", "/auth/login", login))["token"]));
  await request(url, "POST", "/webhook", { name: flow, flow, ...more });
  const change = { password: PASSWORD, is_enabled: true, key: null };
  await request(url, "PUT", `/webhook/${flow}/authentication`, change);
}

export async function using<T>(server: Server, act: (server: Server) => Promise<T>): Promise<T> {
  try {
    return await act(server);
  } finally {
    await server.stop();
  }
}

export const callOf = (url: string, flow: string): string =>
  `${url}/api/latest/webhook/${flow}/call`;

/** Resident memory of processes, in bytes. */
export function residentBytes(pids: readonly number[]): number {
  const pages = pids.map((pid) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]));
  return pages.reduce((sum, count) => sum + count, 0) * 4096;
}

/** The same, of pages that several processes have each its share: what the machine has given for them. */
export function proportionalBytes(pids: readonly number[]): number {
  const sizes = pids.map((pid) => {
    const [, kb] =
      /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
    return Number(kb) * 1024;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** A process and its children, with the names of their programs. */
export function toProcesses(pid: number, own: string, ofChildren: string): Map<number, string> {
  const children = childrenOf(pid).map((child) => [child, ofChildren] as const);
  return new Map([[pid, own], ...children]);
}

/** None where the system does not tell them: Linux alone does. */
export function childrenOf(pid: number): number[] {
  if (process.platform !== "linux") return [];
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function untilAnswering(url: string, child: ChildProcess): Promise<void> {
  const headers = { "content-type": "application/json" };
  while (child.exitCode === null && child.signalCode === null) {
    const answer = await fetch(url, { method: "POST", headers, body: "{}" }).catch(() => null);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${child.spawnargs.join(" ")} ended before it answered`);
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
