import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { dataFolders } from "./cluster.ts";
import type { Service } from "./service.ts";

/**
 * Throws where one of the texts stands in what a stopped service has printed, in any file of its
 * data folders, or in any row of its database elsewhere. What a caller could use to get in must be
 * kept nowhere in clear.
 */
export async function assertNotKept(
  service: Pick<Service, "directory">,
  printed: string,
  texts: readonly string[],
): Promise<void> {
  const files = new Map<string, Buffer>();
  for (const folder of await dataFolders(service.directory)) await readFolder(folder, files);
  for (const [name, rows] of await readDatabase(service.directory)) files.set(name, rows);
  for (const text of texts) {
    if (printed.includes(text)) throw new Error(`"${text}" stands in the log`);
    for (const [path, content] of files) {
      if (content.includes(text)) throw new Error(`"${text}" stands in "${path}"`);
    }
  }
}

/** The tables of a database of PostgreSQL, as text; none where the store is a file. */
async function readDatabase(directory: string): Promise<Map<string, Buffer>> {
  const tables = new Map<string, Buffer>();
  const config = JSON.parse(await readFile(join(directory, "flowhook.yaml"), "utf8")) as {
    readonly DATABASE_URL?: string;
  };
  if (config.DATABASE_URL?.startsWith("postgres:") !== true) return tables;
  const client = new pg.Client(config.DATABASE_URL);
  await client.connect();
  const { rows } = await client.query<{ name: string }>(
    "select quote_ident(tablename) as name from pg_tables where schemaname = 'public'",
  );
  for (const { name } of rows) {
    const found = await client.query<{ text: string }>(
      `select string_agg(row::text, chr(10)) as text from ${name} as row`,
    );
    tables.set(`database ${name}`, Buffer.from(found.rows[0]?.text ?? ""));
  }
  await client.end();
  return tables;
}

async function readFolder(directory: string, files: Map<string, Buffer>): Promise<void> {
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    files.set(path, await readFile(path));
  }
}
