import type { Kysely } from "kysely";

/** The first tables. Frozen: a later change is a later migration. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createPeople(db);
  await createWebhook(db);
  await createExecution(db);
  await createWorkspace(db);
}

async function createPeople(db: Kysely<unknown>): Promise<void> {
  const schema = db.schema;
  await schema
    .createTable("project")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("description", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("modified_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("role")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("permissions", "text", (c) => c.notNull())
    .addColumn("propagate", "integer", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("modified_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("user")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("email", "text", (c) => c.notNull())
    .addColumn("password_hash", "text", (c) => c.notNull())
    .addColumn("is_enabled", "integer", (c) => c.notNull())
    .addColumn("active_at", "bigint")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("modified_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("user_role")
    .addColumn("user_id", "text", (c) => c.notNull().references("user.id").onDelete("cascade"))
    .addColumn("role_id", "text", (c) => c.notNull().references("role.id"))
    .addPrimaryKeyConstraint("user_role_pk", ["user_id", "role_id"])
    .execute();
  await schema
    .createTable("token")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("user_id", "text", (c) => c.notNull().references("user.id").onDelete("cascade"))
    .addColumn("hash", "text", (c) => c.notNull().unique())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("expires_at", "bigint", (c) => c.notNull())
    .addColumn("last_used_at", "bigint")
    .addColumn("last_used_from", "text")
    .execute();
}

async function createWebhook(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("webhook")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("name", "text", (c) => c.notNull().unique())
    .addColumn("description", "text", (c) => c.notNull())
    .addColumn("flow", "text", (c) => c.notNull())
    .addColumn("role_id", "text", (c) => c.references("role.id"))
    .addColumn("project_id", "text", (c) => c.references("project.id"))
    .addColumn("bundle_id", "text")
    .addColumn("is_enabled", "integer", (c) => c.notNull())
    .addColumn("is_productive", "integer", (c) => c.notNull())
    .addColumn("require_login", "integer", (c) => c.notNull())
    .addColumn("key_hash", "text")
    .addColumn("previous_key_hash", "text")
    .addColumn("previous_key_until", "bigint")
    .addColumn("sync_mode", "text")
    .addColumn("execution_location", "text", (c) => c.notNull())
    .addColumn("created_by", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("modified_by", "text", (c) => c.notNull())
    .addColumn("modified_at", "bigint", (c) => c.notNull())
    .execute();
}

async function createExecution(db: Kysely<unknown>): Promise<void> {
  const schema = db.schema;
  await schema
    .createTable("execution")
    .addColumn("id", "text", (c) => c.primaryKey())
    .addColumn("status", "text", (c) => c.notNull())
    .addColumn("status_message", "text")
    .addColumn("webhook_id", "text")
    .addColumn("webhook", "text")
    .addColumn("flow", "text", (c) => c.notNull())
    .addColumn("flow_version", "text")
    .addColumn("is_productive", "integer", (c) => c.notNull())
    .addColumn("is_async", "integer", (c) => c.notNull())
    .addColumn("project_id", "text", (c) => c.notNull())
    .addColumn("role_id", "text")
    .addColumn("acts_for", "text")
    .addColumn("created_by", "text")
    .addColumn("parent_id", "text")
    .addColumn("replay_of", "text")
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("started_at", "bigint")
    .addColumn("ended_at", "bigint")
    .execute();
  await schema
    .createTable("execution_payload")
    .addColumn("execution_id", "text", (c) => c.primaryKey())
    .addColumn("input_value", "text", (c) => c.notNull())
    .addColumn("raw_body_at", "integer")
    .addColumn("raw_body", "text")
    .addColumn("target", "text")
    .addColumn("output_value", "text")
    .addColumn("response", "text")
    .execute();
  await schema
    .createTable("execution_log")
    .addColumn("seq", "integer", (c) => c.primaryKey().autoIncrement())
    .addColumn("execution_id", "text", (c) => c.notNull())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("level", "text", (c) => c.notNull())
    .addColumn("text", "text", (c) => c.notNull())
    .execute();
  await schema
    .createIndex("execution_log_execution")
    .on("execution_log")
    .columns(["execution_id", "seq"])
    .execute();
  await createIndexes(db);
  await schema
    .createTable("connection_usage")
    .addColumn("month", "text", (c) => c.primaryKey())
    .addColumn("used", "bigint", (c) => c.notNull())
    .execute();
}

async function createWorkspace(db: Kysely<unknown>): Promise<void> {
  const schema = db.schema;
  await schema
    .createTable("setting")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("value", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("modified_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("secret")
    .addColumn("name", "text", (c) => c.primaryKey())
    .addColumn("sealed", "text", (c) => c.notNull())
    .addColumn("created_at", "bigint", (c) => c.notNull())
    .addColumn("modified_at", "bigint", (c) => c.notNull())
    .execute();
  await schema
    .createTable("audit")
    .addColumn("seq", "integer", (c) => c.primaryKey().autoIncrement())
    .addColumn("at", "bigint", (c) => c.notNull())
    .addColumn("user_id", "text")
    .addColumn("user_name", "text")
    .addColumn("address", "text", (c) => c.notNull())
    .addColumn("action", "text", (c) => c.notNull())
    .addColumn("target", "text")
    .addColumn("result", "text", (c) => c.notNull())
    .addColumn("members", "text", (c) => c.notNull())
    .execute();
}

/**
 * What lists filter by. Few rows are unended, and few have failed, so these two indexes cost a
 * call that succeeds next to nothing.
 */
async function createIndexes(db: Kysely<unknown>): Promise<void> {
  for (const column of ["webhook", "flow"])
    await db.schema
      .createIndex(`execution_${column}`)
      .on("execution")
      .columns([column, "id"])
      .execute();
  await db.schema
    .createIndex("execution_failed")
    .on("execution")
    .columns(["id"])
    .where("status" as never, "in", ["ENDED_CANCELLED", "ENDED_ERROR", "ENDED_TIMEOUT"] as never)
    .execute();
  await db.schema
    .createIndex("execution_unended")
    .on("execution")
    .columns(["status", "id"])
    .where("ended_at" as never, "is", null)
    .execute();
}
