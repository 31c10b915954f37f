import { sql, type RawBuilder, type Selectable } from "kysely";
import { toStatement } from "./prepared.ts";
import type { FlowVersionTable, NodeFlowTable } from "./shared-schema.ts";
import type { Statement } from "./statement.ts";
import type { Store } from "./store.ts";

export type FlowVersionRow = Omit<Selectable<FlowVersionTable>, "offered_at">;
export type NodeFlowRow = Omit<Selectable<NodeFlowTable>, "taken_at">;
export type OfferRow = NodeFlowRow & Pick<FlowVersionRow, "entry">;

/**
 * What is longer was put there by somebody else, and is not read; bytes. An offer has what a
 * `bundle.yaml` of 64 KB says, as JSON: of some characters that is several times as long.
 */
const [OFFER_BYTES_MAX, VERSION_BYTES_MAX] = [512 * 1024, 8 * 1024 * 1024];

/** How long these columns of a row are together. */
function bytesOf(...columns: readonly string[]): RawBuilder<number> {
  const lengths = columns.map((name) => sql`coalesce(octet_length(${sql.ref(name)}), 0)`);
  return sql<number>`(${sql.join(lengths, sql` + `)})`;
}

/**
 * Statements on the tables `flow_file`, `flow_version`, `node_flow` and `flow_offers`, which
 * PostgreSQL alone has. Times are those of the database: the clocks of nodes differ.
 */

const NOW: RawBuilder<number> = sql`(extract(epoch from now()) * 1000)::bigint`;
const HOUR_MS = 3_600_000;
const MONTH_MS = 30 * 24 * HOUR_MS;

/** Null where it was given up. */
export async function findOfferingNode(
  store: Store,
  id: string,
): Promise<{ id: string; name: string; folder_id: string } | null> {
  const query = store.rows
    .selectFrom("node")
    .select(["id", "name", "folder_id"])
    .where("id", "=", id);
  return (await query.executeTakeFirst()) ?? null;
}

/** Another one than before: a node offers something else. */
export async function findOfferRevision(store: Store): Promise<number> {
  const query = store.rows.selectFrom("flow_offers").select("revision");
  return (await query.executeTakeFirstOrThrow()).revision;
}

/** What all nodes offer, also those that are gone; what was taken up last is the first. */
export function listOffers(store: Store): Promise<OfferRow[]> {
  return store.rows
    .selectFrom("node_flow as offer")
    .innerJoin("flow_version as stored", (join) =>
      join.onRef("stored.flow", "=", "offer.flow").onRef("stored.version", "=", "offer.version"),
    )
    .select(["folder_id", "offer.flow", "offer.version", "bundle", "node_id", "node_name"])
    .select(["offer.seal", "entry"])
    .where(bytesOf("bundle", "entry", "node_name", "offer.seal"), "<=", OFFER_BYTES_MAX)
    .orderBy("taken_at", "desc")
    .orderBy("folder_id")
    .execute();
}

/**
 * The newest version of a flow that another node which lives has in its folder, and how many of its
 * executions wait for whichever node takes them.
 *
 * @param node that asks
 */
export function findOffered(
  store: Store,
  flow: string,
  node: string,
): Promise<{ version: string; waiting: number } | undefined> {
  return store.rows
    .selectFrom("node_flow as offer")
    .innerJoin("node", "node.id", "offer.node_id")
    .where("offer.flow", "=", flow)
    .where("node.id", "<>", node)
    .where("node.lease_until", ">", NOW)
    .orderBy("taken_at", "desc")
    .limit(1)
    .select("offer.version")
    .select(
      sql<number>`(select count(*) from execution where flow = ${flow} and status = 'PENDING'
        and ended_at is null and node_id is null)`.as("waiting"),
    )
    .executeTakeFirst();
}

/** A flow of which nodes have different versions in their folders. */
export interface DifferingFlow {
  readonly flow: string;
  /** By the names of the nodes that have the flow. */
  readonly versions: readonly { readonly node: string; readonly version: string }[];
}

/** Of nodes that live. */
export async function listDiffering(store: Store): Promise<DifferingFlow[]> {
  const rows = await store.rows
    .with("offered", (db) =>
      db
        .selectFrom("node_flow as offer")
        .innerJoin("node", "node.id", "offer.node_id")
        .where("node.lease_until", ">", NOW)
        .select(["offer.flow", "offer.version", "node.name as node"]),
    )
    .selectFrom("offered")
    .selectAll()
    .where("flow", "in", (db) =>
      db
        .selectFrom("offered")
        .select("flow")
        .groupBy("flow")
        .having(sql`count(distinct version)`, ">", 1),
    )
    .orderBy("flow")
    .orderBy("node")
    .orderBy("version")
    .execute();
  const flows = Map.groupBy(rows, ({ flow }) => flow);
  return [...flows].map(([flow, offered]) => ({
    flow,
    versions: offered.map(({ node, version }) => ({ node, version })),
  }));
}

export function findFlowVersion(
  store: Store,
  flow: string,
  version: string,
): Promise<FlowVersionRow | undefined> {
  return store.rows
    .selectFrom("flow_version")
    .select(["flow", "version", "entry", "files", "seal"])
    .where("flow", "=", flow)
    .where("version", "=", version)
    .where(bytesOf("entry", "files", "seal"), "<=", VERSION_BYTES_MAX)
    .executeTakeFirst();
}

/** @param mostBytes a larger one was put there by somebody else: it is not read */
export async function findFlowFile(
  store: Store,
  hash: string,
  mostBytes: number,
): Promise<Buffer | null> {
  const row = await store.rows
    .selectFrom("flow_file")
    // The store reads bytes as text.
    .select(sql<string>`encode(bytes, 'base64')`.as("base64"))
    .where("hash", "=", hash)
    .where(sql<number>`octet_length(bytes)`, "<=", mostBytes)
    .executeTakeFirst();
  return row === undefined ? null : Buffer.from(row.base64, "base64");
}

/** Which of these files are there as they should be. */
export async function listWholeFiles(store: Store, hashes: readonly string[]): Promise<string[]> {
  const rows = await store.rows
    .selectFrom("flow_file")
    .select("hash")
    .where("hash", "in", hashes)
    .where(sql<string>`encode(sha256(bytes), 'hex')`, "=", sql.ref<string>("hash"))
    .execute();
  return rows.map(({ hash }) => hash);
}

/** Files that are offered again stay. */
export function touchFlowFiles(store: Store, hashes: readonly string[]): Statement {
  const query = store.rows.updateTable("flow_file").set({ offered_at: NOW });
  return toStatement(query.where("hash", "in", hashes));
}

/** In the place of one that was changed by somebody. */
export function putFlowFile(store: Store, hash: string, bytes: Uint8Array): Statement {
  const query = store.rows
    .insertInto("flow_file")
    .values({ hash, bytes, offered_at: NOW })
    .onConflict((conflict) =>
      conflict.column("hash").doUpdateSet((e) => ({
        bytes: e.ref("excluded.bytes"),
        offered_at: e.ref("excluded.offered_at"),
      })),
    );
  return toStatement(query);
}

/** In the place of one that was changed by somebody. */
export function putFlowVersion(store: Store, row: FlowVersionRow): Statement {
  const query = store.rows
    .insertInto("flow_version")
    .values({ ...row, offered_at: NOW })
    .onConflict((conflict) =>
      conflict.columns(["flow", "version"]).doUpdateSet((e) => ({
        entry: e.ref("excluded.entry"),
        files: e.ref("excluded.files"),
        seal: e.ref("excluded.seal"),
        offered_at: e.ref("excluded.offered_at"),
      })),
    );
  return toStatement(query);
}

/** What a folder has now; a version that it had already keeps its time. */
export function putOffer(store: Store, row: NodeFlowRow): Statement {
  const query = store.rows
    .insertInto("node_flow")
    .values({ ...row, taken_at: NOW })
    .onConflict((conflict) =>
      conflict.columns(["folder_id", "flow"]).doUpdateSet((e) => ({
        version: e.ref("excluded.version"),
        bundle: e.ref("excluded.bundle"),
        node_id: e.ref("excluded.node_id"),
        node_name: e.ref("excluded.node_name"),
        seal: e.ref("excluded.seal"),
        taken_at: e
          .case()
          .when("node_flow.version", "=", e.ref("excluded.version"))
          .then(e.ref("node_flow.taken_at"))
          .else(e.ref("excluded.taken_at"))
          .end(),
      })),
    );
  return toStatement(query);
}

export function deleteOffer(store: Store, folderId: string, flow: string): Statement {
  const query = store.rows.deleteFrom("node_flow").where("folder_id", "=", folderId);
  return toStatement(query.where("flow", "=", flow));
}

/** A folder that is looked at decides over what nodes that are gone have left. */
export function deleteLeftOffers(store: Store, flow: string): Statement {
  const query = store.rows
    .deleteFrom("node_flow")
    .where("flow", "=", flow)
    .where("node_id", "not in", (e) => e.selectFrom("node").select("node.id"));
  return toStatement(query);
}

export function raiseOfferRevision(store: Store): Statement {
  const query = store.rows.updateTable("flow_offers");
  return toStatement(query.set((e) => ({ revision: e("revision", "+", 1) })));
}

/**
 * Forgets versions that nobody offers and no execution waits for, but for the newest ones of each
 * flow, which are kept for a month.
 *
 * @param kept how many of a flow
 */
export function deleteOldVersions(store: Store, kept: number): Statement {
  const newest = sql<boolean>`(flow, version) in (
    select ranked.flow, ranked.version from (
      select flow, version, offered_at,
        row_number() over (partition by flow order by offered_at desc) as place
      from flow_version) ranked
    where ranked.place <= ${kept} and ranked.offered_at > ${NOW} - ${MONTH_MS}::bigint)`;
  const query = store.rows
    .deleteFrom("flow_version")
    .where((e) => e.not(newest))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom("node_flow")
            .select("node_flow.flow")
            .whereRef("node_flow.flow", "=", "flow_version.flow")
            .whereRef("node_flow.version", "=", "flow_version.version"),
        ),
      ),
    )
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom("execution")
            .select("execution.key")
            .where("execution.ended_at", "is", null)
            .whereRef("execution.flow", "=", "flow_version.flow")
            .whereRef("execution.flow_version", "=", "flow_version.version"),
        ),
      ),
    );
  return toStatement(query);
}

/**
 * An hour is longer than any node takes from a version's files to the version. The hashes are looked
 * for in the text: where somebody changed a version in the database, it may be no JSON any more, and
 * the files of all others are to go all the same.
 */
export function deleteOldFiles(store: Store): Statement {
  const query = store.rows
    .deleteFrom("flow_file")
    .where("offered_at", "<", sql<number>`${NOW} - ${HOUR_MS}::bigint`)
    .where(
      sql<boolean>`hash not in (select found[1]
        from flow_version, regexp_matches(flow_version.files, '"hash":"([^"]+)"', 'g') as found)`,
    );
  return toStatement(query);
}
