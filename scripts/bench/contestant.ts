import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** A server under measurement. */
export interface Contestant {
  readonly url: string;
  /** Where it is called. */
  readonly call: string;
  readonly pids: () => number[];
  readonly folder: string | null;
  stop(): Promise<void>;
}

const ROOT = join(import.meta.dirname, "../..");
export const BINARY = join(ROOT, "build/flowhook");
const PASSWORD = "a password for the bench";

export const ECHO = `export default async function (flow: { input_value: { json: unknown } }) {
  return { echo: flow.input_value.json };
}`;
const SLOW = `export default async function () {
  await new Promise((resolve) => setTimeout(resolve, 3_600_000));
}`;

/** A floor: a file of this folder. */
export async function startFloor(name: string): Promise<Contestant> {
  const port = await freePort();
  const child = spawn("node", [join(import.meta.dirname, `${name}.ts`), String(port)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}/`;
  await untilAnswering(url, child);
  const pids = () => [child.pid as number];
  return { url, call: url, pids, folder: null, stop: () => stop(child) };
}

/** The service with an enabled webhook for each of the flows `echo` and `slow`. */
export async function startService(
  config: Record<string, string | number>,
  prepare: (folder: string) => void = () => {},
): Promise<Contestant> {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-bench-"));
  mkdirSync(join(folder, "plugins"));
  writeFileSync(join(folder, "plugins/echo.ts"), ECHO);
  writeFileSync(join(folder, "plugins/slow.ts"), SLOW);
  prepare(folder);
  const env = toEnvironment({ LISTEN_PORT: 0, LOG_FORMAT: "json", ...config });
  const child = spawn(BINARY, ["serve"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await untilListening(child);
  for (const flow of ["echo", "slow"]) await createWebhook(url, flow);
  return {
    url,
    call: callOf(url, "echo"),
    folder,
    pids: () => [child.pid as number, ...childrenOf(child.pid as number)],
    async stop() {
      await stop(child);
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

export async function createWebhook(url: string, flow: string): Promise<void> {
  const login = { user_name: "admin", password: PASSWORD };
  tokens.set(url, String((await request(url, "POST", "/auth/login", login))["token"]));
  await request(url, "POST", "/webhook", { name: flow, flow });
  const change = { password: PASSWORD, is_enabled: true, key: null };
  await request(url, "PUT", `/webhook/${flow}/authentication`, change);
}

export const callOf = (url: string, flow: string): string =>
  `${url}/api/latest/webhook/${flow}/call`;

/** Resident memory of processes, in bytes. */
export function residentBytes(pids: readonly number[]): number {
  const pages = pids.map((pid) => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]));
  return pages.reduce((sum, count) => sum + count, 0) * 4096;
}

export function childrenOf(pid: number): number[] {
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
  while (child.exitCode === null) {
    try {
      await fetch(url, { method: "POST", body: "{}" });
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  throw new Error(`"${url}" ended before it answered`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
