import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { openDataFolder } from "../server/config/data-folder.ts";
import { homeFolder, readEnvironment, type Environment } from "../server/config/environment.ts";
import { loadConfig, type Loaded } from "../server/config/load.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { flowName } from "../server/flows/names.ts";
import { AUTHOR_DATA, findConnection } from "./author-connection.ts";
import { CommandError } from "./command-error.ts";

const CONFIG = "flowhook.yaml";

/** What a folder has that is no PLUGINS_DIR itself. */
const USUAL = [CONFIG, "plugins"];

/**
 * The folder that a command in this one belongs to, as for git and npm: the nearest, from here
 * upwards, with a flowhook.yaml or a `flowhook dev` that runs for it; this one where none has.
 */
export function findAuthorFolder(): string {
  const here = process.cwd();
  if (existsSync(join(here, CONFIG)) || findConnection(here) !== null) return here;
  const isOne = (folder: string) => hasOwnConfig(folder) || findConnection(folder) !== null;
  return foldersAbove(here).find(isOne) ?? here;
}

/**
 * A warning where the working folder has no flowhook.yaml and one above it has: that one is not
 * read, since a service takes its configuration from nowhere else.
 */
export function warnOfConfigAbove(): string[] {
  const here = process.cwd();
  const above = foldersAbove(here).find(hasOwnConfig);
  if (above === undefined) return [];
  const given = relative(here, join(above, CONFIG));
  return [
    `Found no flowhook.yaml in "${here}", and one in "${above}" that is not read: ` +
      `run the command there, or name the file with --config ${quotePath(given)}`,
  ];
}

/** From the nearest to the root, or to the home folder: what is above that is not the user's. */
function foldersAbove(folder: string): string[] {
  const above: string[] = [];
  const home = homeFolder();
  for (let at = folder; at !== home && dirname(at) !== at; above.push(at)) at = dirname(at);
  return above;
}

/** Others may put files into a folder above, e.g. into /tmp: theirs name no service. */
function hasOwnConfig(folder: string): boolean {
  const stats = statSync(join(folder, CONFIG), { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return false;
  return process.getuid === undefined || [0, process.getuid()].includes(stats.uid);
}

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

/** A folder that cannot be listed is none: what reads it next says why. */
function holdsFlows(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => flowName(name) !== null);
  } catch {
    return false;
  }
}

/** Whether flows of the folder can be run here: it has a configuration, or flows. */
export function isAuthorFolder(folder: string): boolean {
  return (
    existsSync(join(folder, CONFIG)) || existsSync(readAuthorFolder(folder).config.PLUGINS_DIR)
  );
}

/** Makes the data folder; what is in it belongs into no repository. */
export function openAuthorData(loaded: Loaded): string[] {
  const warnings = openDataFolder(loaded);
  const ignore = join(loaded.config.DATA_DIR, ".gitignore");
  if (!existsSync(ignore)) writeFileSync(ignore, "*\n");
  return warnings;
}
