import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openDataFolder } from "../server/config/data-folder.ts";
import { readEnvironment, type Environment } from "../server/config/environment.ts";
import { loadConfig, type Loaded } from "../server/config/load.ts";
import { flowName } from "../server/flows/names.ts";
import { CommandError } from "./command-error.ts";

/** What the author's own service keeps, below the folder of the flows; no part of it is a flow. */
export const AUTHOR_DATA = ".flowhook";

/** What a folder has that is no PLUGINS_DIR itself. */
const USUAL = ["flowhook.yaml", "plugins"];

/**
 * The configuration of a folder as one author uses it: its own data, on loopback without TLS, and
 * everything else as the folder's flowhook.yaml has it. A folder that holds flows, and neither a
 * configuration nor `plugins`, is its own PLUGINS_DIR.
 *
 * @throws CommandError where there is no such folder
 * @throws ConfigError
 */
export function readAuthorFolder(folder: string): Loaded {
  const root = resolve(folder);
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new CommandError(`There is no folder "${folder}"`, 2);
  const loaded = loadConfig({ env: toEnvironment(root), cwd: root });
  const { config } = loaded;
  const own: typeof config = {
    ...config,
    DATABASE_URL: `sqlite:${join(config.DATA_DIR, "flowhook.db")}`,
    DATA_KEY: null,
    LISTEN_HOST: "127.0.0.1",
    BASE_URL: null,
    TLS_CERT_FILE: null,
    TLS_KEY_FILE: null,
    TRUSTED_PROXIES: [],
    CONNECTION_ALLOWANCE: null,
    SHUTDOWN_DELAY_SEC: 0,
    SHUTDOWN_GRACE_SEC: Math.min(config.SHUTDOWN_GRACE_SEC, 1),
  };
  return { ...loaded, config: own };
}

function toEnvironment(root: string): Environment {
  const env = { ...readEnvironment(), FLOWHOOK_DATA_DIR: join(root, AUTHOR_DATA) };
  const isPlain = !USUAL.some((name) => existsSync(join(root, name)));
  return isPlain && holdsFlows(root) ? { FLOWHOOK_PLUGINS_DIR: root, ...env } : env;
}

function holdsFlows(folder: string): boolean {
  return readdirSync(folder).some((name) => flowName(name) !== null);
}

/** Whether flows of the folder can be run here: it has a configuration, or flows. */
export function isAuthorFolder(folder: string): boolean {
  return (
    existsSync(join(folder, "flowhook.yaml")) ||
    existsSync(readAuthorFolder(folder).config.PLUGINS_DIR)
  );
}

/** Makes the data folder; what is in it belongs into no repository. */
export function openAuthorData(loaded: Loaded): string[] {
  const warnings = openDataFolder(loaded);
  const ignore = join(loaded.config.DATA_DIR, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  return warnings;
}
