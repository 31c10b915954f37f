import { readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { readInline, type Given } from "./document.ts";
import { reasonOf, refuse } from "./config-error.ts";
import { nearestKey } from "./nearest-key.ts";
import { CONFIG_KEYS, factsOf, type ConfigKey } from "./schema.ts";

/** Environment variables as the process got them. */
export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "FLOWHOOK_";

/** Variables with this product's prefix that are no configuration. */
const OTHER_VARIABLES: readonly string[] = [
  "FLOWHOOK_ADMIN_PASSWORD",
  "FLOWHOOK_ADMIN_PASSWORD_FILE",
  "FLOWHOOK_URL",
  "FLOWHOOK_TOKEN",
];

/** The only reading of the process's environment. */
export function readEnvironment(): Environment {
  return { ...process.env };
}

/** What people give beside the configuration; null where it is not set. */
export interface Credentials {
  /**
   * FLOWHOOK_ADMIN_PASSWORD or the content of FLOWHOOK_ADMIN_PASSWORD_FILE: for the first start, and
   * read when that asks for it. A later one needs no file.
   *
   * @throws ConfigError where the file cannot be read, or is empty
   */
  readonly adminPassword: () => string | null;
  /** FLOWHOOK_URL: the service that commands speak to. */
  readonly url: string | null;
  /** FLOWHOOK_TOKEN: the login token they speak with. */
  readonly token: string | null;
  /** SSL_CERT_FILE: the authorities that they believe. */
  readonly certificateFile: string | null;
}

export function readCredentials(env: Environment): Credentials {
  return {
    adminPassword: () => readAdminPassword(env),
    url: env["FLOWHOOK_URL"] || null,
    token: env["FLOWHOOK_TOKEN"] || null,
    certificateFile: env["SSL_CERT_FILE"] || null,
  };
}

function readAdminPassword(env: Environment): string | null {
  const variable = readVariable("FLOWHOOK_ADMIN_PASSWORD", env);
  if (variable?.text.trim() === "")
    refuse(variable.name, "Found an empty password, expected that of the user admin");
  return variable?.text ?? null;
}

/** The variable that gives the first password of `admin`; null where none does. */
export function nameOfPassword(env: Environment): string | null {
  const names = ["FLOWHOOK_ADMIN_PASSWORD_FILE", "FLOWHOOK_ADMIN_PASSWORD"];
  return names.find((name) => env[name]) ?? null;
}

/** The time zone, and the authorities that HTTPS connections believe. */
const OF_FLOWS = ["TZ", "NODE_USE_SYSTEM_CA", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] as const;

/** What holds for the flows of a service as for itself: no flow reads it, the runtime does. */
export function environmentOfFlows(env: Environment): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const name of OF_FLOWS) {
    const value = env[name];
    // Their process works in another folder.
    if (value) kept[name] = /_CERTS$|_FILE$/.test(name) ? resolve(value) : value;
  }
  return kept;
}

/** Where this product keeps what belongs to a person (XDG Base Directory Specification 0.8). */
export function personalFolder(env: Environment): string {
  const given = env["XDG_CONFIG_HOME"];
  return join(given && isAbsolute(given) ? given : join(homedir(), ".config"), "flowhook");
}

/** The home folder of the user, without links in its path; null where there is none. */
export function homeFolder(): string | null {
  try {
    return realpathSync(homedir());
  } catch {
    return null;
  }
}

/** The keys that the environment sets. An empty variable counts as not set. */
export function readVariables(env: Environment): Map<ConfigKey, Given> {
  const given = new Map<ConfigKey, Given>();
  for (const key of CONFIG_KEYS) {
    const variable = readVariable(PREFIX + key, env);
    if (variable !== null) {
      given.set(key, { value: readValue(key, variable), place: variable.name });
    }
  }
  return given;
}

/** Orchestrators inject names of their own with a service's prefix, so these are only warned of. */
export function warnOfVariables(env: Environment): string[] {
  const keys = CONFIG_KEYS.map((key) => PREFIX + key);
  const known = new Set([...keys, ...keys.map((name) => `${name}_FILE`), ...OTHER_VARIABLES]);
  const unknown = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !known.has(name));
  return unknown.sort().map((name) => {
    const nearest = nearestKey(name);
    const hint = nearest === null ? "" : `; did you mean "${PREFIX}${nearest}"?`;
    return `Environment variable "${name}" is not known and was ignored${hint}`;
  });
}

interface Variable {
  readonly name: string;
  readonly text: string;
}

function readVariable(name: string, env: Environment): Variable | null {
  const fileName = `${name}_FILE`;
  const file = env[fileName];
  if (!file) return env[name] ? { name, text: env[name] } : null;
  if (env[name]) refuse(fileName, `Found together with "${name}", expected one of them`);
  try {
    return { name: fileName, text: readFileSync(file, "utf8").replace(/\r?\n$/, "") };
  } catch (error) {
    return refuse(fileName, `File "${file}" cannot be read: ${reasonOf(error)}`);
  }
}

function readValue(key: ConfigKey, variable: Variable): unknown {
  const { reading } = factsOf(key);
  const text = variable.text.trim();
  if (reading === "text") return text === "null" ? null : text;
  if (reading === "yaml" || text.startsWith("[")) return readInline(text, variable.name);
  return text.split(",").map((item) => item.trim());
}
