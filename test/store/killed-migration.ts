import { statSync } from "node:fs";
import { join } from "node:path";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";

/** Opens an old store and is killed in the turn in which a file beside it has so many bytes. */

const [path = "", beside = "", least] = process.argv.slice(2);
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");

function killAt(bytes: number): void {
  const written = statSync(path + beside, { throwIfNoEntry: false })?.size ?? 0;
  if (written < bytes) return void setImmediate(() => killAt(bytes));
  process.stdout.write(String(written));
  process.kill(process.pid, "SIGKILL");
}

let lines = 0;
function tell(): void {
  if ((lines += 1) === 1) killAt(Number(least));
}

await openSqliteStore({ path, durability: "full", addon: null, thread, tell });
