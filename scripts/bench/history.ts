import { closeSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

/**
 * Puts ended executions into the store of a service, older than any of its own. They are on the
 * disk afterwards: a history is not written while one looks.
 */
export function fillHistory(folder: string, count: number): void {
  const file = join(folder, "data/flowhook.db");
  const db = new Database(file);
  db.exec(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into execution select printf('01000000-%04x-7%03x-8000-%012x', i >> 12, i & 4095, i),
      'ENDED_SUCCESS', null, 'w', 'echo', 'echo', 'v', 1, 0, 'p', null, null, null, null, null,
      i, i, i from n`);
  db.exec(`insert into execution_payload (execution_id, input_value, output_value)
    select id, '{"method":"POST","path":null,"headers":{},"query":{}}', '{"ok":true}' from execution`);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  const fd = openSync(file, "r+");
  fsyncSync(fd);
  closeSync(fd);
}
