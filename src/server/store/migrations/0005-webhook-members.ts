import { sql, type Kysely } from "kysely";

/**
 * What a webhook says of its callers and its answers, and what a record says of its call. What is
 * there keeps today's behaviour.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of COLUMNS)
    await sql`alter table webhook add column ${sql.raw(column)}`.execute(db);
  for (const column of ["address", "verified"])
    await db.schema.alterTable("execution").addColumn(column, "text").execute();
  await db.schema
    .createTable("webhook_secret")
    .addColumn("webhook_id", "text", (c) =>
      c.notNull().references("webhook.id").onDelete("cascade"),
    )
    .addColumn("secret", "text", (c) => c.notNull().references("secret.name"))
    .addPrimaryKeyConstraint("webhook_secret_pk", ["secret", "webhook_id"])
    .execute();
  await db.schema
    .createTable("execution_claim")
    .addColumn("hash", "text", (c) => c.primaryKey())
    .addColumn("execution_key", "bigint", (c) => c.notNull())
    .addColumn("fingerprint", "text")
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .execute();
  await db.schema
    .createIndex("execution_claim_execution")
    .on("execution_claim")
    .column("execution_key")
    .execute();
}

const COLUMNS = [
  "default_mode text not null default 'sync'",
  "async_status integer not null default 201",
  "methods text",
  "allowed_addresses text",
  "max_body_bytes bigint",
  "idempotency text",
  "signature text",
  "signature_revision integer not null default 0",
];
