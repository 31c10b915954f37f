import { statSync } from "node:fs";
import { join } from "node:path";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";

/** Opens an old store and is killed after so many pages of its rows, of which each is a turn. */

const [path = "", pages] = process.argv.slice(2);
const thread = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");

function killAfter(turns: number): void {
  if (turns > 0) return void setImmediate(() => killAfter(turns - 1));
  process.stdout.write(String(statSync(`${path}-wal`).size));
  process.kill(process.pid, "SIGKILL");
}

let lines = 0;
function tell(): void {
  if ((lines += 1) === 1) killAfter(Number(pages));
}

await openSqliteStore({ path, durability: "full", addon: null, thread, tell });
