import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { Settings } from "./schema.ts";

type Resolved =
  | "DATABASE_URL"
  | "WORKER_THREADS"
  | "FLOW_MAX_CONCURRENT"
  | "WARM_THREADS"
  | "RUNNER_MEMORY_MB"
  | "SHUTDOWN_DELAY_SEC"
  | "LOG_FORMAT";

/** The configuration as the program uses it: nothing is left to be worked out, paths are absolute. */
export type Config = Readonly<
  Omit<Settings, Resolved> & {
    /** `sqlite:` and an absolute path, or `postgres:`; see `databaseFile`. May hold a password. */
    DATABASE_URL: string;
    WORKER_THREADS: number;
    FLOW_MAX_CONCURRENT: number;
    WARM_THREADS: number;
    RUNNER_MEMORY_MB: number;
    SHUTDOWN_DELAY_SEC: number;
    LOG_FORMAT: "json" | "pretty";
  }
>;

/** What the machine and the place of the file decide. */
export interface Surroundings {
  /** Where relative paths start. */
  readonly folder: string;
  readonly cores: number;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
}

export function resolveConfig(settings: Settings, around: Surroundings): Config {
  const at = (path: string) => resolve(around.folder, path);
  const data = at(settings.DATA_DIR);
  const database = resolveDatabase(settings.DATABASE_URL, data, at);
  return Object.freeze({
    ...settings,
    ...resolveThreads(settings, around.cores),
    BASE_URL: settings.BASE_URL && resolveBaseUrl(settings.BASE_URL),
    TLS_CERT_FILE: settings.TLS_CERT_FILE && at(settings.TLS_CERT_FILE),
    TLS_KEY_FILE: settings.TLS_KEY_FILE && at(settings.TLS_KEY_FILE),
    DATA_DIR: data,
    DATABASE_URL: database,
    PLUGINS_DIR: at(settings.PLUGINS_DIR),
    ALLOW_READ: settings.ALLOW_READ.map(at),
    ALLOW_WRITE: settings.ALLOW_WRITE.map(at),
    SHUTDOWN_DELAY_SEC: orElse(settings.SHUTDOWN_DELAY_SEC, isFile(database) ? 0 : DELAY_SEC),
    LOG_FORMAT: resolveFormat(settings.LOG_FORMAT, around.terminal),
  });
}

/** As clients write it, without a slash at its end: what follows is appended. */
function resolveBaseUrl(text: string): string {
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** A balancer that looks each second, and believes what it sees twice, has seen it by then. */
const DELAY_SEC = 3;

/** The database file of a resolved configuration; null: it is a database of PostgreSQL. */
export function databaseFile({ DATABASE_URL }: Pick<Config, "DATABASE_URL">): string | null {
  return isFile(DATABASE_URL) ? DATABASE_URL.slice("sqlite:".length) : null;
}

/** The URL without who opens the database, for whoever reads it. */
export function showDatabase({ DATABASE_URL }: Pick<Config, "DATABASE_URL">): string {
  if (isFile(DATABASE_URL)) return DATABASE_URL;
  const url = new URL(DATABASE_URL);
  url.username = url.password = "";
  for (const name of ["user", "password", "sslpassword"]) url.searchParams.delete(name);
  return url.href;
}

function isFile(url: string): boolean {
  return url.startsWith("sqlite:");
}

/** What the service is called among others. */
export function nodeName({ NODE_NAME }: Pick<Config, "NODE_NAME">): string {
  return NODE_NAME ?? hostname();
}

/** A time of the configuration, in whole milliseconds: a database takes no parts of one. */
export function toMs(seconds: number): number {
  return Math.round(seconds * 1000);
}

/** The path of BASE_URL, under which the service serves; empty without one. */
export function prefixOf({ BASE_URL }: Pick<Config, "BASE_URL">): string {
  return BASE_URL === null ? "" : new URL(BASE_URL).pathname.replace(/\/$/, "");
}

/** Where relative paths start: the folder of the file, or the working folder without one. */
export function folderOf(file: string | null, cwd: string): string {
  return file === null ? cwd : dirname(file);
}

function resolveThreads(settings: Settings, cores: number) {
  const threads = orElse(settings.WORKER_THREADS, Math.max(4, 4 * cores));
  return {
    WORKER_THREADS: threads,
    FLOW_MAX_CONCURRENT: orElse(settings.FLOW_MAX_CONCURRENT, Math.max(1, Math.floor(threads / 2))),
    WARM_THREADS: orElse(settings.WARM_THREADS, 2 * threads),
    RUNNER_MEMORY_MB: orElse(settings.RUNNER_MEMORY_MB, threads * settings.FLOW_MEMORY_MB + 512),
  };
}

function orElse(value: number | "auto", automatic: number): number {
  return value === "auto" ? automatic : value;
}

function resolveDatabase(url: string | null, data: string, at: (path: string) => string): string {
  if (url !== null && !isFile(url)) return url;
  return `sqlite:${url === null ? join(data, "flowhook.db") : at(url.slice("sqlite:".length))}`;
}

function resolveFormat(format: Settings["LOG_FORMAT"], terminal: boolean): "json" | "pretty" {
  if (format !== "auto") return format;
  return terminal ? "pretty" : "json";
}
