import { accessSync, constants, existsSync, lstatSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError } from "../../server/config/config-error.ts";
import { checkDataFolder, namesIn } from "../../server/config/data-folder.ts";
import type { Loaded } from "../../server/config/load.ts";
import { HAS_MODES, isOurs, nameOfUser, ownId } from "../../server/config/owner.ts";
import { warnOfPlugins } from "../../server/config/plugins-folder.ts";
import { databaseFile } from "../../server/config/resolve.ts";
import { nearestPart, quotePath, targetOf, userWord } from "../../server/config/unwritable.ts";
import { sizeOf } from "../../server/store/sqlite/inspection.ts";
import { describeBytes, reportOn, type Finding } from "./finding.ts";

/** Folders, their owners, and the room in them. */

const folders = reportOn("folders");
const space = reportOn("space");

/** DATA_DIR, PLUGINS_DIR and the configuration file, as the user sees them who runs this. */
export function examineFolders(loaded: Loaded): Finding[] {
  const { PLUGINS_DIR } = loaded.config;
  const plugins = warnOfPlugins(loaded.config).map((sentence) =>
    toPluginsFinding(sentence, PLUGINS_DIR),
  );
  const found = [...examineData(loaded), ...plugins, ...examineReadable(loaded)];
  if (found.length > 0) return found;
  const owner = HAS_MODES ? ` belong to ${nameOfUser(ownId())} alone` : " can be written";
  return [folders.ok(`DATA_DIR "${loaded.config.DATA_DIR}" and what is in it${owner}`)];
}

function examineData(loaded: Loaded): Finding[] {
  const { DATA_DIR } = loaded.config;
  try {
    const wide = checkDataFolder(loaded).map((sentence) =>
      folders.warning(sentence, `Run: chmod -R go= ${quotePath(DATA_DIR)}`),
    );
    if (existsSync(DATA_DIR)) return [...wide, ...examineOwners(DATA_DIR)];
    return [folders.skipped(`DATA_DIR "${DATA_DIR}" is not there yet: the first start makes it`)];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.errors.map(({ place, message }) =>
      folders.error(message, `Mend that, or what ${place} says`),
    );
  }
}

/** Files of another user are left where somebody ran a command as root. */
function examineOwners(folder: string): Finding[] {
  if (!HAS_MODES) return [];
  const others = listOthers(folder);
  const [first] = others;
  if (first === undefined) return [];
  const user = nameOfUser(ownId());
  const owner = nameOfUser(lstatSync(first).uid);
  const more = others.length === 1 ? "" : `, and ${others.length - 1} more`;
  return [
    folders.warning(
      `"${first}" belongs to ${owner}, not to ${user}${more}`,
      `Run: sudo chown -R ${userWord(ownId())} ${quotePath(folder)}`,
    ),
  ];
}

/** Those of other users, however deep; what they have within their own folders is theirs as well. */
function listOthers(folder: string): string[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return [];
    if (!isOurs(stats)) return [path];
    return stats.isDirectory() ? listOthers(path) : [];
  });
}

function toPluginsFinding(sentence: string, folder: string): Finding {
  const [message = sentence, action] = sentence.split(/\. (?=Run: |Set another )/);
  return action === undefined
    ? folders.warning(message, `Run: mkdir -p ${quotePath(folder)}`)
    : folders.error(message, action);
}

function examineReadable({ file, config: { PLUGINS_DIR } }: Loaded): Finding[] {
  const paths = [...(file === null ? [] : [file]), PLUGINS_DIR].filter((path) => existsSync(path));
  return paths.flatMap((path) => {
    const isFolder = statSync(path).isDirectory();
    try {
      accessSync(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
      return [];
    } catch {
      const user = nameOfUser(ownId());
      const mode = isFolder ? "755" : "644";
      return [
        folders.error(
          `${user} cannot read "${path}"`,
          `Run: sudo chmod ${mode} ${quotePath(path)}, and look at the folders above it`,
        ),
      ];
    }
  });
}

/** Below this the ledger, of 64 MB at most, may not find its room; bytes. */
const LEAST = 128 * 2 ** 20;
/** Below this it is time to look; bytes. */
const FEW = 2 ** 30;

/** Free space where the database is: an update copies it first, and writes as much again. */
export function examineSpace({ config }: Loaded): Finding[] {
  const path = databaseFile(config);
  const folder = nearestPart(path === null ? config.DATA_DIR : dirname(path));
  if (targetOf(folder) === null)
    return [space.skipped(`Not looked at: nothing can be seen behind "${folder}"`)];
  const { bavail, bsize, files, ffree } = statfsSync(folder);
  const [free, size] = [bavail * bsize, path === null ? 0 : sizeOf(path)];
  const action = "Free some, or lower RETENTION_DAYS or RETENTION_MAX_BYTES";
  const has = `${describeBytes(free)} are free at "${folder}"`;
  if (free < LEAST)
    return [
      space.error(
        `Only ${has}: calls are refused once the disk is full, and a service does not start`,
        "Free some: RETENTION_DAYS and RETENTION_MAX_BYTES only help a service that runs",
      ),
    ];
  if (files > 0 && ffree === 0) return [space.error(`No inodes are free at "${folder}"`, action)];
  if (free < 2 * size)
    return [
      space.warning(
        `${has}; a new release that changes the database needs ${describeBytes(2 * size)}`,
        action,
      ),
    ];
  if (free < FEW) return [space.warning(`Only ${has}`, action)];
  if (path === null) return [space.ok(has)];
  return [space.ok(`${has}; the database takes ${describeBytes(size)}`)];
}
