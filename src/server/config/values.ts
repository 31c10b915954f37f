import type { Given } from "./document.ts";
import { nameOfPassword, type Environment } from "./environment.ts";
import { showDatabase, type Config } from "./resolve.ts";
import { CONFIG_KEYS, type ConfigKey } from "./schema.ts";

/** A key of the configuration, what it is worth, and who said so. */
export interface ConfigValue {
  readonly key: ConfigKey | "ADMIN_PASSWORD";
  /** As the program uses it: paths are absolute, `auto` is a number. A secret is null. */
  readonly value: unknown;
  readonly source: "file" | "environment" | "default";
  /** `FILE:LINE`, or the name of the variable; null for a default. */
  readonly place: string | null;
  /** The place in the file that the environment overrides; null without one. */
  readonly overrides: string | null;
}

interface Sources {
  readonly written: ReadonlyMap<string, Given>;
  readonly variables: ReadonlyMap<string, Given>;
  readonly env: Environment;
}

/** Every key in the order of the schema, and the first password where the environment has one. */
export function listValues(config: Config, sources: Sources): ConfigValue[] {
  const password = nameOfPassword(sources.env);
  const values = CONFIG_KEYS.map((key) => toValue(key, shownOf(key, config), sources));
  if (password === null) return values;
  const hidden = { key: "ADMIN_PASSWORD", value: null, overrides: null } as const;
  return [...values, { ...hidden, source: "environment", place: password }];
}

/** The same for a command that has defaults of its own. */
export function replaceValues(values: readonly ConfigValue[], config: Config): ConfigValue[] {
  return values.map((one) =>
    one.key === "ADMIN_PASSWORD" ? one : { ...one, value: shownOf(one.key, config) },
  );
}

/** Whether a value was given that is shown nowhere. */
export function isHidden({ key, source }: Pick<ConfigValue, "key" | "source">): boolean {
  return key === "ADMIN_PASSWORD" || (key === "DATA_KEY" && source !== "default");
}

/** A value without any secret in it. */
function shownOf(key: ConfigKey, config: Config): unknown {
  if (key === "DATA_KEY") return null;
  return key === "DATABASE_URL" ? showDatabase(config) : config[key];
}

function toValue(key: ConfigKey, value: unknown, { written, variables }: Sources): ConfigValue {
  const [line, variable] = [written.get(key)?.place ?? null, variables.get(key)?.place ?? null];
  if (variable !== null)
    return { key, value, source: "environment", place: variable, overrides: line };
  return { key, value, source: line === null ? "default" : "file", place: line, overrides: null };
}
