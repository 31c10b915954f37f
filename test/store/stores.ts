import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import { openSqliteStore } from "../../src/server/store/sqlite/store.ts";
import type { Store } from "../../src/server/store/store.ts";
import { newId } from "../../src/shared/id.ts";
import { POSTGRES_THREAD } from "./postgres-thread.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";

/** The same cases on each store. */

export const KINDS = ["sqlite", "postgres"] as const;
export type Kind = (typeof KINDS)[number];

const THREAD = join(import.meta.dirname, "../../src/server/store/sqlite/thread.ts");
const folder = mkdtempSync(join(tmpdir(), "flowhook-stores-"));
let server: Promise<PostgresServer> | null = null;
const urls = new Map<string, Promise<string>>();

after(async () => {
  rmSync(folder, { recursive: true, force: true });
  await (await server)?.stop();
});

/** The file of a store of SQLite. */
export function pathOf(name: string): string {
  return join(folder, name);
}

/**
 * @param name the same one is the same database
 * @param connections to PostgreSQL at most
 */
export async function openStoreOf(kind: Kind, name: string, connections = 8): Promise<Store> {
  const durability = "normal";
  if (kind === "sqlite") {
    return openSqliteStore({ path: pathOf(name), durability, addon: null, thread: THREAD });
  }
  const url = await urlOf(name);
  const node = { name: "test", version: "0", leaseMs: 15_000, folderId: newId(), folderPlace: "" };
  return openPostgresStore({
    url,
    durability,
    connections,
    thread: POSTGRES_THREAD,
    name: "flowhook test",
    node,
  });
}

/** Of a database that is new at its first use. */
export function urlOf(name: string): Promise<string> {
  server ??= openPostgres();
  const found = urls.get(name) ?? server.then((one) => one.createDatabase());
  urls.set(name, found);
  return found;
}

type Open = (name: string) => Promise<Store>;

/** One case, on each store. */
export function testStores(title: string, run: (open: Open, kind: Kind) => Promise<void>): void {
  for (const kind of KINDS)
    test(`${kind}: ${title}`, () => run((name) => openStoreOf(kind, name), kind));
}
