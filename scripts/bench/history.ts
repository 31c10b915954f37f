import { join } from "node:path";
import Database from "better-sqlite3";

/** Puts ended executions into the store of a service, older than any of its own. */
export function fillHistory(folder: string, count: number): void {
  const db = new Database(join(folder, "data/flowhook.db"));
  db.exec(`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    insert into execution select printf('01000000-%04x-7%03x-8000-%012x', i >> 12, i & 4095, i),
      'ENDED_SUCCESS', null, 'w', 'echo', 'echo', 'v', 1, 0, 'p', null, null, null, null, null,
      i, i, i from n`);
  db.exec(`insert into execution_payload (execution_id, input_value, output_value)
    select id, '{"method":"POST","path":null,"headers":{},"query":{}}', '{"ok":true}' from execution`);
  db.close();
}
