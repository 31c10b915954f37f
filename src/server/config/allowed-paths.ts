import { statSync } from "node:fs";
import { dirname } from "node:path";
import { isInside, toRealPath } from "../../shared/path.ts";
import type { ConfigProblem } from "./config-error.ts";
import { databaseFile, type Config } from "./resolve.ts";

/** ALLOW_READ and ALLOW_WRITE against what the service itself lives on. */

/** What a flow that could write it would turn into code, rights or secrets of its own. */
interface Own {
  readonly name: string;
  readonly path: string;
}

/** Nothing of these is for flows, and nothing in the folders among them. */
function listOwn(config: Config, file: string | null): Own[] {
  const { DATA_DIR, PLUGINS_DIR, TLS_CERT_FILE, TLS_KEY_FILE } = config;
  const named: [string, string | null][] = [
    ["DATA_DIR", DATA_DIR],
    ["PLUGINS_DIR", PLUGINS_DIR],
    ["the configuration file", file],
    ["DATABASE_URL", databaseFile(config)],
    ["TLS_CERT_FILE", TLS_CERT_FILE],
    ["TLS_KEY_FILE", TLS_KEY_FILE],
  ];
  return named.flatMap(([name, path]) => (path === null ? [] : [{ name, path }]));
}

/** One fault for each path of ALLOW_WRITE that would let flows write what the service lives on. */
export function checkWritable(config: Config, file: string | null, place: string): ConfigProblem[] {
  const own = listOwn(config, file);
  return config.ALLOW_WRITE.flatMap((path) => {
    const found = own.find((one) => touches(path, one.path));
    if (found === undefined) return [];
    const message =
      `Found "${path}" for ALLOW_WRITE, which covers ${found.name} ("${found.path}") or lies in ` +
      `it, expected folders that hold nothing of the service`;
    return [{ place, message }];
  });
}

/** What flows could read of it. */
const HELD: Readonly<Record<string, string>> = {
  DATA_DIR: "every execution and the key of the secrets",
  "the configuration file": "the password or the key in it",
  DATABASE_URL: "every execution",
  TLS_KEY_FILE: "the key of the certificate",
};

/**
 * A sentence for each path of ALLOW_READ that lets flows read what nobody else is to read.
 *
 * @param file the configuration file, where it holds a secret
 */
export function warnOfReadable(config: Config, file: string | null): string[] {
  const { DATA_DIR } = config;
  const own = listOwn(config, file).filter(
    ({ name, path }) => name === "DATA_DIR" || (name in HELD && !touches(path, DATA_DIR)),
  );
  return config.ALLOW_READ.flatMap((path) => {
    const found = own.filter((one) => touches(path, one.path));
    return found.map(
      (one) =>
        `ALLOW_READ "${path}" covers ${one.name} ("${one.path}"): flows that declare it can ` +
        `read ${HELD[one.name]}`,
    );
  });
}

/** A sentence for each path that is not there; a flow may make a file that it may write. */
export function warnOfMissing({ ALLOW_READ, ALLOW_WRITE }: Config): string[] {
  return [
    ...ALLOW_READ.filter(isMissing).map((path) => describeMissing("ALLOW_READ", path)),
    ...ALLOW_WRITE.filter((path) => isMissing(path) && isMissing(dirname(path))).map((path) =>
      describeMissing("ALLOW_WRITE", path),
    ),
  ];
}

/** Not of what this user may not see. */
function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
  }
}

function describeMissing(key: string, path: string): string {
  const hint = path.includes(":") ? ": several paths are written [/a, /b]" : "";
  return `${key} "${path}" does not exist${hint}`;
}

/** Behind all links: one path is the other, or lies in it. */
function touches(path: string, other: string): boolean {
  const [one, two] = [toRealPath(path), toRealPath(other)];
  return isInside(one, two) || isInside(two, one);
}
