import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** Restores a backup, and is killed when the database is to get its name. */

const [path = "", backup = ""] = process.argv.slice(2);

const { renameSync } = fs;
fs.renameSync = (from, to) => {
  if (to === path) process.kill(process.pid, "SIGKILL");
  renameSync(from, to);
};
syncBuiltinESMExports();

const { restoreFrom } = await import("../../src/server/store/sqlite/backup.ts");
await restoreFrom({ path, durability: "full", addon: null }, backup);
