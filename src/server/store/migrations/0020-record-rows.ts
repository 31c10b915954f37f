import { sql, type Kysely } from "kysely";

/**
 * The rows that records arrive as. Nodes of one release after the other share the database: a
 * release that needs other columns makes another type, and leaves these as they are.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create type begin_row as (
    key bigint, parent_key bigint, id text, status text, status_message text, webhook_id text,
    webhook text, flow text, flow_version text, is_productive bigint, is_async bigint,
    project_id text, role_id text, acts_for text, created_by text, parent_id text, replay_of text,
    address text, verified text, node text, created_at bigint, started_at bigint, ended_at bigint,
    input_value text, raw_body_at bigint, raw_body bytea, target text, output_value text,
    response text, month text, part bigint)`.execute(db);
  await sql`create type end_row as (
    key bigint, status text, status_message text, ended_at bigint, output_value text,
    response text)`.execute(db);
  await sql`create type move_row as (
    key bigint, status text, started_at bigint, undone bigint)`.execute(db);
  await sql`create type log_row as (
    execution_key bigint, at bigint, level text, text text)`.execute(db);
  await sql`create type claim_row as (
    hash text, execution_key bigint, fingerprint text, expires_at bigint, replaced bigint,
    at bigint)`.execute(db);
}
