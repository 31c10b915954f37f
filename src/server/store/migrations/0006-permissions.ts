import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";

/** Nothing asks for these any more: a role that names one could not be saved again. */
const GONE = ["bundle.write", "workspace.write"];

export async function up(db: Kysely<unknown>): Promise<void> {
  const tables = db as Kysely<Pick<Schema, "role">>;
  for (const { id, permissions } of await tables
    .selectFrom("role")
    .select(["id", "permissions"])
    .execute()) {
    const grants = JSON.parse(permissions) as { readonly permission: string }[];
    const kept = grants.filter(({ permission }) => !GONE.includes(permission));
    if (kept.length === grants.length) continue;
    const text = JSON.stringify(kept);
    await tables.updateTable("role").set({ permissions: text }).where("id", "=", id).execute();
  }
}
