import { existsSync } from "node:fs";
import { openDatabase, type SqliteFile } from "./connection.ts";

/** Names of webhooks that list addresses, read beside whoever has the store open. */
export function listAddressed({ path, addon }: Pick<SqliteFile, "path" | "addon">): string[] {
  if (!existsSync(path)) return [];
  const db = openDatabase(path, addon, { readonly: true });
  try {
    const columns = db.prepare("select name from pragma_table_info('webhook')").pluck().all();
    if (!columns.includes("allowed_addresses")) return [];
    const sql = "select name from webhook where allowed_addresses is not null order by name";
    return db.prepare(sql).pluck().all() as string[];
  } finally {
    db.close();
  }
}
