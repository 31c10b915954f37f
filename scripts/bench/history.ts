import { closeSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { keyOf } from "../../src/shared/id.ts";

const FIRST = "01000000-0000-7000-8000-000000000000";

/**
 * Puts ended executions into the store of a service, older than any of its own. They are on the
 * disk afterwards: a history is not written while one looks.
 */
export function fillHistory(folder: string, count: number): void {
  const file = join(folder, "data/flowhook.db");
  const db = new Database(file);
  db.exec(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into execution (key, id, status, webhook_id, webhook, flow, flow_version, is_productive,
      is_async, project_id, created_at, started_at, ended_at)
    select ${keyOf(FIRST)} + i,
      printf('01000000-%04x-7%03x-8000-%012x', i >> 12, i & 4095, i), 'ENDED_SUCCESS', 'w', 'echo',
      'echo', 'v', 1, 0, 'p', i, i, i from n`);
  db.exec(`insert into execution_input (execution_key, input_value)
    select key, '{"method":"POST","path":null,"headers":{},"query":{}}' from execution`);
  db.exec(`insert into execution_output (execution_key, output_value)
    select key, '{"ok":true}' from execution`);
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  const fd = openSync(file, "r+");
  fsyncSync(fd);
  closeSync(fd);
}
