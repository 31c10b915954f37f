import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { listOwn } from "../../server/config/data-folder.ts";
import { databaseFile, type Config } from "../../server/config/resolve.ts";
import { CONFIG_FOLDER, PROGRAM, STATE_FOLDER, USER } from "./installation.ts";
import { asksSystemd, findUser, runProgram } from "./machine.ts";
import { isInside } from "../../shared/path.ts";
import type { Step } from "./step.ts";
import { UNIT, UNIT_FILE } from "./unit-file.ts";

/**
 * What is taken away, and in which order.
 *
 * @param purged whose data go as well; null: they stay
 */
export function planRemoval(purged: Config | null): Step[] {
  return [
    {
      what: "stop the service: systemctl disable --now flowhook",
      isDone: () => !asksSystemd("is-active", UNIT) && !asksSystemd("is-enabled", UNIT),
      act: () => void runProgram("systemctl", "disable", "--now", UNIT),
    },
    { ...remove(UNIT_FILE), act: removeUnit },
    remove(PROGRAM),
    ...(purged === null ? [] : planPurge(purged)),
  ];
}

function removeUnit(): void {
  rmSync(UNIT_FILE);
  runProgram("systemctl", "daemon-reload");
}

function planPurge(config: Config): Step[] {
  const file = databaseFile(config);
  const folders = [...new Set([config.DATA_DIR, ...(file === null ? [] : [dirname(file)])])];
  return [
    ...folders.map((folder) => removeData(folder, config)),
    remove(CONFIG_FOLDER),
    {
      what: `remove the system user ${USER}`,
      isDone: () => findUser(USER) === null,
      act: () => void runProgram("userdel", USER),
    },
  ];
}

/** What the service keeps there, by name: a folder of an operator's may hold more. */
function removeData(folder: string, config: Config): Step {
  const list = () =>
    [...listOwn({ config }), ...listCopies(config)].filter((path) => dirname(path) === folder);
  return {
    what: `remove the data in ${folder}`,
    isDone: () => list().length === 0,
    act() {
      for (const path of list()) rmSync(path, { recursive: true });
      removeEmpty(folder);
      if (isInside(STATE_FOLDER, folder)) removeEmpty(STATE_FOLDER);
    },
  };
}

/** Ends the name of a copy of the database: of before an update, or of a command that was killed. */
const COPY = /^\.(before-.+|(restoring|moving)(-.+)?)$/;

function listCopies(config: Config): string[] {
  const file = databaseFile(config);
  if (file === null) return [];
  const folder = dirname(file);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter(
      (name) => name.startsWith(basename(file)) && COPY.test(name.slice(basename(file).length)),
    )
    .map((name) => join(folder, name));
}

function removeEmpty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
}

function remove(path: string): Step {
  return {
    what: `remove ${path}`,
    isDone: () => !existsSync(path),
    act: () => rmSync(path, { recursive: true }),
  };
}
