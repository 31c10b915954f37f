import type { Database } from "better-sqlite3";
import { Kysely, SqliteDialect } from "kysely";
import { apply } from "../../src/server/store/migrate.ts";
import type { Schema } from "../../src/server/store/schema.ts";
import { openConnection } from "../../src/server/store/sqlite/connection.ts";

/** What releases before the key of executions have applied. */
const FIRST = ["0001-first", "0002-key-use"];

/** A database as an older release has left it. @param applied its migrations */
export async function makeOldStore(
  path: string,
  fill: (db: Database) => void,
  applied = FIRST,
): Promise<void> {
  const database = openConnection({ path, durability: "normal", addon: null });
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database }) });
  await apply(db, applied);
  database.transaction(() => fill(database))();
  await db.destroy();
}

/** So many executions, a second apart, each with input and output, and one in five with a log line. */
export function fillOldStore(db: Database, count: number, text = 400): void {
  const many = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;
  const id = `printf('019f%04x-%04x-7%03x-8000-%012x', i >> 8, (i & 255) << 8, i & 4095, i * 7919)`;
  const input = `'{"json":"' || printf('%.${text}c', 'x') || i || '"}'`;
  db.exec(`${many} insert into execution (id, status, status_message, webhook_id, webhook, flow,
      flow_version, is_productive, is_async, project_id, created_at, started_at, ended_at)
    select ${id}, iif(i % 10 = 0, 'ENDED_ERROR', 'ENDED_SUCCESS'), iif(i % 10 = 0, 'm' || i, null),
      'w', 'echo', 'echo', 'v', 1, 0, 'p', (0x019f00000000 + i * 256) , 1, 2 from n`);
  db.exec(`${many} insert into execution_payload (execution_id, input_value, raw_body_at, target,
      output_value, response)
    select ${id}, ${input}, 8, '/webhook/echo', iif(i % 7 = 0, null, '{"echo":${"y".repeat(1)}' || i || '}'),
      iif(i % 9 = 0, '{"status":201}', null) from n`);
  db.exec(`${many} insert into execution_log (execution_id, at, level, text)
    select ${id}, i, 'info', 'line of ' || i from n where i % 5 = 0`);
}
