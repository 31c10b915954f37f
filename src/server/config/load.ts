import { lstatSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import * as v from "valibot";
import { checkWritable, warnOfMissing, warnOfReadable } from "./allowed-paths.ts";
import { findParameterFault } from "./database-url.ts";
import { kindOf, readDocument, type Given } from "./document.ts";
import { readVariables, warnOfVariables, type Environment } from "./environment.ts";
import { ConfigError, type ConfigProblem } from "./config-error.ts";
import { nearestKey } from "./nearest-key.ts";
import { folderOf, resolveConfig, type Config } from "./resolve.ts";
import { CONFIG_SCHEMA, factsOf, type ConfigKey, type Settings } from "./schema.ts";
import { listValues, type ConfigValue } from "./values.ts";

export interface LoadOptions {
  /** `--config FILE`; without it `flowhook.yaml` in the working folder, if it exists. */
  readonly file?: string;
  readonly env: Environment;
  readonly cwd: string;
  /** Whether standard output is a terminal. */
  readonly terminal?: boolean;
}

/** Where the configuration came from. */
export interface Configuration {
  /** Absolute path of the file that was read; null without one. */
  readonly file: string | null;
  /** Each key with its value, and where that came from. */
  readonly values: readonly ConfigValue[];
}

export interface Loaded extends Configuration {
  readonly config: Config;
  /** Sentences for the log: nothing that stops the start. */
  readonly warnings: string[];
  /** Where a key was given (`flowhook.yaml:3`), for messages; its name where it was not. */
  readonly placeOf: (key: ConfigKey) => string;
}

/**
 * The configuration: environment before file before default.
 *
 * @throws ConfigError with every fault in one message; the process exits with its exitCode.
 */
export function loadConfig(options: LoadOptions): Loaded {
  const file = findFile(options);
  const written = file === null ? new Map<string, Given>() : readDocument(file);
  const variables = readVariables(options.env);
  const given = new Map<string, Given>([...written, ...variables]);
  const settings = parseSettings(given);
  const config = resolveConfig(settings, {
    folder: folderOf(file, options.cwd),
    cores: availableParallelism(),
    terminal: options.terminal ?? process.stdout.isTTY === true,
  });
  const placeOf = (key: ConfigKey) => given.get(key)?.place ?? key;
  const errors = checkWritable(config, file, placeOf("ALLOW_WRITE"));
  if (errors.length > 0) throw new ConfigError(errors);
  const secretFile = holdsSecret(written) ? file : null;
  const warnings = [
    ...warnOfVariables(options.env),
    ...warnOfReadable(config, secretFile),
    ...warnOfMissing(config),
  ];
  const values = listValues(config, { written, variables, env: options.env });
  return { config, warnings, file, placeOf, values };
}

/** Whether the file itself has the data key, or a password of the database. */
function holdsSecret(written: ReadonlyMap<string, Given>): boolean {
  if (typeof written.get("DATA_KEY")?.value === "string") return true;
  const url = written.get("DATABASE_URL")?.value;
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { password, searchParams } = new URL(url);
  return password !== "" || ["password", "sslpassword"].some((name) => searchParams.has(name));
}

function findFile(options: LoadOptions): string | null {
  if (options.file !== undefined) return resolve(options.cwd, options.file);
  const usual = resolve(options.cwd, "flowhook.yaml");
  return isThere(usual) ? usual : null;
}

/** A link to nothing is there too: its file is away, and nobody meant the defaults. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function parseSettings(given: ReadonlyMap<string, Given>): Settings {
  const known = [...given].filter(([key]) => isKey(key));
  const values = Object.fromEntries(known.map(([key, { value }]) => [key, value]));
  const parsed = v.safeParse(CONFIG_SCHEMA, values, { abortPipeEarly: true });
  const errors = [
    ...[...given].filter(([key]) => !isKey(key)).map(([key, { place }]) => unknownKey(key, place)),
    ...(parsed.issues ?? []).map((issue) => toError(issue, given)),
    ...(parsed.success ? checkTogether(parsed.output, given) : []),
  ];
  if (!parsed.success || errors.length > 0) throw new ConfigError(inOrder(errors, given));
  return parsed.output;
}

/** In the order in which people wrote the keys: file first, then environment. */
function inOrder(errors: ConfigProblem[], given: ReadonlyMap<string, Given>): ConfigProblem[] {
  const places = [...given.values()].map(({ place }) => place);
  return errors.toSorted((a, b) => places.indexOf(a.place) - places.indexOf(b.place));
}

function toError(issue: v.BaseIssue<unknown>, given: ReadonlyMap<string, Given>): ConfigProblem {
  const [key = "", ...inner] = (issue.path ?? []).map((item) => String(item.key));
  if (!isKey(key)) return { place: key, message: issue.message };
  const place = given.get(key)?.place ?? key;
  const member = inner.map((index) => `[${index}]`).join("");
  const expected = inner.length > 0 ? issue.message : factsOf(key).expected;
  const found = show(key, issue.input);
  return { place, message: `Found ${found} for ${key}${member}, expected ${expected}` };
}

function isKey(key: string): key is ConfigKey {
  return Object.hasOwn(CONFIG_SCHEMA.entries, key);
}

function unknownKey(key: string, place: string): ConfigProblem {
  const nearest = nearestKey(key);
  const expected =
    nearest === null ? "a key of the configuration (flowhook docs configuration)" : `"${nearest}"`;
  return { place, message: `Found the unknown key "${key}", expected ${expected}` };
}

/** Their values may hold a password, or are one. */
const SECRET: readonly ConfigKey[] = ["DATA_KEY", "DATABASE_URL", "BASE_URL"];

/**
 * Of a refused URL of a database only the scheme is shown, of another no user; of a key nothing, and
 * nothing of what is no text where one of these belongs.
 */
function show(key: ConfigKey, value: unknown): string {
  if (SECRET.includes(key) && typeof value !== "string") return kindOf(value);
  if (key === "DATA_KEY") return `a text of ${String(value).length} characters`;
  if (key === "DATABASE_URL") {
    const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(String(value));
    return scheme === null ? "a text without a scheme" : `"${scheme[0]}..."`;
  }
  if (key === "BASE_URL" && typeof value === "string" && value.includes("@"))
    return `"...${value.slice(value.lastIndexOf("@"))}"`;
  const text = JSON.stringify(value, (_, part) => (part instanceof Map ? [...part] : part)) ?? "";
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}

/** Rules over more than one key. */
function checkTogether(settings: Settings, given: ReadonlyMap<string, Given>): ConfigProblem[] {
  const errors: ConfigProblem[] = [];
  const placeOf = (key: ConfigKey) => given.get(key)?.place ?? key;
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: tlsKey } = settings;
  if ((cert === null) !== (tlsKey === null)) {
    const [has, lacks] = (["TLS_CERT_FILE", "TLS_KEY_FILE"] as const).toSorted((a) =>
      settings[a] === null ? 1 : -1,
    );
    errors.push({ place: placeOf(has!), message: `Found ${has} alone, expected ${lacks} with it` });
  }
  const isPostgres = settings.DATABASE_URL?.startsWith("postgres") === true;
  const fault = isPostgres ? findParameterFault(settings.DATABASE_URL ?? "") : null;
  if (fault !== null) errors.push({ place: placeOf("DATABASE_URL"), message: fault });
  if (settings.RETENTION_MAX_BYTES !== null && isPostgres) {
    const message =
      "Found RETENTION_MAX_BYTES with PostgreSQL, whose database does not shrink by deleting: " +
      "expected RETENTION_DAYS or RETENTION_MAX_EXECUTIONS instead";
    errors.push({ place: placeOf("RETENTION_MAX_BYTES"), message });
  }
  if (settings.FLOW_TIMEOUT_SEC > settings.FLOW_TIMEOUT_MAX_SEC) {
    const message =
      `Found ${settings.FLOW_TIMEOUT_SEC} for FLOW_TIMEOUT_SEC, expected at most ` +
      `FLOW_TIMEOUT_MAX_SEC (${settings.FLOW_TIMEOUT_MAX_SEC})`;
    errors.push({ place: placeOf("FLOW_TIMEOUT_SEC"), message });
  }
  return errors;
}
