import { existsSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { ConfigError } from "../server/config/config-error.ts";
import { loadConfig, type Loaded } from "../server/config/load.ts";
import type { Config } from "../server/config/resolve.ts";
import { quotePath } from "../server/config/unwritable.ts";
import { CommandError } from "./command-error.ts";
import { examineService } from "./doctor/connection.ts";
import {
  CONFIG_FOLDER,
  planSteps,
  PROGRAM,
  requireFree,
  STATE_FOLDER,
} from "./install/installation.ts";
import { requireSystemd } from "./install/machine.ts";
import { planRemoval } from "./install/removal.ts";
import { takeSteps } from "./install/step.ts";
import { requireOwnUnit } from "./install/unit-file.ts";
import { findProgram, isOneFile } from "./own-program.ts";
import { CONFIG_FILE, warnOfHidden } from "./systemd.ts";

/**
 * Installs this program as a service of systemd, and starts it. What is there stays as it is, but
 * for the program and the unit, which are renewed.
 *
 * @throws CommandError where that cannot be: not root, no systemd, or something stands in the way
 */
export async function install({ dryRun = false }: { dryRun?: boolean }): Promise<void> {
  requireSystemd("install", dryRun);
  const loaded = loadInstalled();
  const [source = "", ...words] = findProgram();
  requireFree(loaded.config, isOneFile() ? source : null);
  for (const warning of warnOfHidden(CONFIG_FILE, loaded.config))
    process.stderr.write(`${warning}\n`);
  if (!isOneFile()) requireSeen([source, ...words]);
  const isCopied = isOneFile() && source !== PROGRAM;
  const program = isCopied ? [PROGRAM] : [source, ...words];
  await takeSteps(planSteps({ program, source: isCopied ? source : null, loaded }), dryRun);
  if (dryRun) return void process.stdout.write("\nNothing was done: this was a dry run\n");
  await reportStart(loaded.config);
}

/** Unless the configuration says otherwise. */
const DATA_FOLDER = `${STATE_FOLDER}/data`;

/** The configuration that is there, or the one that will be written. */
function loadInstalled(): Loaded {
  if (existsSync(CONFIG_FILE))
    return loadConfig({ env: {}, cwd: CONFIG_FOLDER, file: CONFIG_FILE });
  const env = {
    FLOWHOOK_DATA_DIR: DATA_FOLDER,
    FLOWHOOK_PLUGINS_DIR: `${CONFIG_FOLDER}/plugins`,
  };
  return { ...loadConfig({ env, cwd: CONFIG_FOLDER }), file: null };
}

function requireSeen(words: readonly string[]): void {
  const hidden = words.find((word) => /^(file:\/\/)?\/(home|root|tmp|var\/tmp)\//.test(word));
  if (hidden === undefined) return;
  throw new CommandError(
    `The service would not see "${hidden}": systemd hides /home, /root and /tmp from it. Move the ` +
      `program, e.g. to /usr/local/lib, or install the single binary`,
  );
}

/** How long a start may take until it answers, and how often it is asked; milliseconds. */
const START_MS = 30_000;
const ASK_MS = 200;

async function reportStart(config: Config): Promise<void> {
  const until = performance.now() + START_MS;
  let [found] = await examineService(config, { isRunning: true, key: null });
  while (found?.state !== "ok" && performance.now() < until) {
    await wait(ASK_MS);
    [found] = await examineService(config, { isRunning: true, key: null });
  }
  if (found?.state === "ok") process.stdout.write(`\n${found.message}\n`);
  else throw new CommandError(`${found?.message}. Its log: journalctl --unit flowhook`);
}

/**
 * Takes the service away again; data, configuration, flows and the user stay unless they are to go.
 *
 * @throws CommandError where that cannot be
 */
export async function uninstall(options: { dryRun?: boolean; purge?: boolean }): Promise<void> {
  const { dryRun = false, purge = false } = options;
  requireSystemd("uninstall", dryRun);
  requireOwnUnit();
  const config = purge ? loadInstalled().config : readInstalled();
  await takeSteps(planRemoval(purge ? config : null), dryRun);
  if (dryRun) return void process.stdout.write("\nNothing was done: this was a dry run\n");
  if (purge) return;
  process.stdout.write(
    `\nThe data in "${config?.DATA_DIR ?? DATA_FOLDER}", "${CONFIG_FOLDER}" and the user stay. ` +
      `This removes them: sudo ${leftProgram()} uninstall --purge\n`,
  );
}

/** Null where the file is broken, which is told. */
function readInstalled(): Config | null {
  try {
    return loadInstalled().config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`"${CONFIG_FILE}" could not be read. ${error.message}\n`);
    return null;
  }
}

/** The installed one, which may have run this, is gone. */
function leftProgram(): string {
  try {
    return findProgram().map(quotePath).join(" ");
  } catch {
    return `./flowhook-${process.platform}-${process.arch}`;
  }
}
