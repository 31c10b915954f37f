import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { sql, type RawBuilder } from "kysely";
import { pino } from "pino";
import { openFlowSeal } from "../../src/server/access/flow-seal.ts";
import type { Catalog, CatalogOptions, Flow } from "../../src/server/flows/catalog.ts";
import { DifferingVersions } from "../../src/server/flows/differing-versions.ts";
import { Offers } from "../../src/server/flows/offers.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import { toStatement } from "../../src/server/store/prepared.ts";
import type { Store } from "../../src/server/store/store.ts";
import {
  deleteOldFiles,
  deleteOldVersions,
  listDiffering,
} from "../../src/server/store/flow-offers.ts";
import { newExecutionId } from "../../src/shared/id.ts";
import { INPUT, newRow } from "../store/rows.ts";
import { openPostgres } from "../postgres-server.ts";
import { inspect, openFixture, type Fixture } from "./fixture.ts";
import { POSTGRES_THREAD } from "../store/postgres-thread.ts";

/** Folders of several nodes on one database of PostgreSQL. */

const server = await openPostgres();
after(() => server.stop());

const greet = (word: string) => `export default () => ${JSON.stringify(word)};\n`;
const HOUR_MS = 3_600_000;
const MONTHS_MS = 60 * 24 * HOUR_MS;
const KEY = Buffer.alloc(32, 1);

/** One of several: a folder, its catalog, and its own store on the same database. */
interface Node {
  readonly fixture: Fixture;
  readonly catalog: Catalog;
  readonly store: Store;
  /** As a service that ends: what it offers stays. */
  stop(): Promise<void>;
}

type NodeOptions = Partial<CatalogOptions> & {
  key?: Buffer;
  isBorrowing?: boolean;
  /** Between two questions what others offer. */
  askMs?: number;
};

class Cluster {
  readonly #url: string;
  readonly #opened = new AsyncDisposableStack();

  private constructor(url: string) {
    this.#url = url;
  }

  static async open(): Promise<Cluster> {
    return new Cluster(await server.createDatabase());
  }

  /** A node with these files. */
  async join(
    name: string,
    files: Readonly<Record<string, string>>,
    options?: NodeOptions,
  ): Promise<Node> {
    return this.start(name, this.#opened.use(await openFixture(files)), options);
  }

  async start(name: string, fixture: Fixture, options: NodeOptions = {}): Promise<Node> {
    const { key = KEY, isBorrowing = true, askMs = 20, ...rest } = options;
    const node = { name, version: "0", leaseMs: 60_000, folderId: fixture.data, folderPlace: "" };
    const plain = {
      durability: "normal",
      connections: 6,
      name: "flowhook test",
      thread: POSTGRES_THREAD,
    } as const;
    const store = this.#opened.use(await openPostgresStore({ ...plain, url: this.#url, node }));
    const log = pino(
      { level: "warn" },
      { write: (line: string) => void fixture.logged.push(line) },
    );
    const offers = await Offers.open({
      store,
      nodeId: () => store.node?.id ?? "",
      seal: openFlowSeal(key),
      isBorrowing,
      log,
      pollMs: askMs,
    });
    const catalog = this.#opened.use(await fixture.open({ offers, pollMs: 100, ...rest }));
    const stop = async () => {
      await catalog[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    };
    return { fixture, catalog, store, stop };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened.disposeAsync();
  }
}

async function run(store: Store, statement: RawBuilder<unknown>): Promise<void> {
  await store.commit([toStatement({ compile: () => statement.compile(store.rows) })]);
}

/** Resolves with a flow once it passes, now or later. */
async function until(
  { fixture, catalog }: Node,
  name: string,
  passes: (flow: Flow) => boolean,
): Promise<Flow> {
  const change = fixture.change((flow) => flow.name === name && passes(flow));
  const now = catalog.find(name);
  return now !== undefined && passes(now) ? now : change;
}

/** Asks again where the machine paused for as long as the asking may take. */
async function ask(catalog: Catalog, name: string): Promise<Flow | undefined> {
  for (;;) {
    const begun = performance.now();
    const found = await catalog.findOrAsk(name);
    if (found !== undefined || performance.now() - begun < 5000) return found;
  }
}

suite("flows on all nodes", () => {
  test("a flow of one folder serves on the other, changes there, and goes with its file", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", {
      "shop/order.ts": `import { vat } from "../_lib/vat.ts"; export default () => vat;`,
      "_lib/vat.ts": "export const vat = 0.19;",
      "shop/bundle.yaml": "name: Shop\ndescription: Sells",
    });
    const two = await cluster.join("two", {});
    const first = await until(two, "shop.order", ({ state }) => state === "ready");
    const own = one.catalog.find("shop.order");
    assert.equal(own?.node, null);
    assert.deepEqual(
      [first.version, first.node, first.file, first.bundle],
      [own?.version, "one", "shop/order.ts", "Shop"],
    );
    assert.ok(first.spec?.directory.startsWith(two.fixture.data));
    assert.deepEqual(two.catalog.bundles(), one.catalog.bundles());
    assert.match((await two.catalog.source("shop.order")) ?? "", /export default/);

    const changed = two.fixture.change((flow) => flow.version !== first.version);
    await one.fixture.write("_lib/vat.ts", "export const vat = 0.2;");
    assert.equal((await changed).state, "ready");
    assert.deepEqual(two.fixture.retired, [`shop.order@${first.version}`]);

    const gone = two.fixture.change(() => two.catalog.find("shop.order") === undefined);
    await one.fixture.remove("shop/order.ts");
    await gone;
    assert.deepEqual(two.catalog.list(), []);
  });

  test("a version that ended its runners stays broken, whatever else is offered", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one") });
    const two = await cluster.join("two", {});
    const { spec } = await until(two, "a", ({ state }) => state === "ready");
    two.catalog.markBroken(spec?.key ?? "", "It took the runner down three times");
    await one.fixture.write("b.ts", greet("b"));
    await until(two, "b", ({ state }) => state === "ready");
    await two.catalog.idle();
    assert.equal(two.catalog.find("a")?.state, "broken");
    await two.catalog.reload();
    assert.equal((await until(two, "a", ({ state }) => state === "ready")).version, spec?.version);
  });

  test("a flow is offered with all that its bundle says", async () => {
    await using cluster = await Cluster.open();
    // In JSON it is twice as long.
    const description = '"'.repeat(63 * 1024);
    await cluster.join("one", {
      "shop/bundle.yaml": `name: Shop\ndescription: '${description}'`,
      "shop/a.ts": greet("one"),
    });
    const two = await cluster.join("two", {});
    await until(two, "shop.a", ({ state }) => state === "ready");
    assert.equal(two.catalog.bundles()[0]?.description, description);
  });

  test("a flow that another node has just got is known to who asks for it", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", {}, { askMs: HOUR_MS });
    const two = await cluster.join("two", {}, { askMs: HOUR_MS });
    const dropped = one.fixture.change(({ state }) => state === "ready");
    await one.fixture.write("a.ts", greet("one"));
    await dropped;
    const offered = sql<{ flow: string }>`select flow from node_flow`;
    while ((await offered.execute(two.store.rows)).rows.length === 0) await setImmediate();
    assert.equal(two.catalog.find("a"), undefined);
    assert.equal((await ask(two.catalog, "a"))?.state, "ready");
    assert.equal(await two.catalog.findOrAsk("b"), undefined);
  });

  test("nodes with different versions are told of once, after a time, and no more once they agree", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one"), "b.ts": greet("b") });
    const two = await cluster.join("two", { "a.ts": greet("two"), "b.ts": greet("b") });
    const stored = sql<{ count: number }>`select count(*) as count from node_flow`;
    while ((await stored.execute(one.store.rows)).rows[0]?.count !== 4) await setImmediate();
    const versions = [
      { node: "one", version: one.catalog.find("a")?.version },
      { node: "two", version: two.catalog.find("a")?.version },
    ];
    assert.deepEqual(await listDiffering(one.store), [{ flow: "a", versions }]);
    const lines: string[] = [];
    const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const early = new DifferingVersions(one.store, log, 0, HOUR_MS);
    for (let n = 0; n < 3; n += 1) await early.check();
    assert.deepEqual(lines, []);
    const late = new DifferingVersions(one.store, log, 0, 0);
    for (let n = 0; n < 3; n += 1) await late.check();
    assert.equal(lines.length, 1);
    const { flow, versions: told } = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
    assert.deepEqual([flow, told], ["a", versions]);
    await two.fixture.write("a.ts", greet("one"));
    while ((await listDiffering(one.store)).length > 0) await setImmediate();
  });

  test("a flow that breaks in its folder leaves the last good version to all", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one") });
    const two = await cluster.join("two", {});
    const { version } = await until(two, "a", ({ state }) => state === "ready");
    const broken = one.fixture.change(({ state }) => state === "broken");
    await one.fixture.write("a.ts", "export default 1;");
    await broken;
    await one.fixture.write("b.ts", greet("later"));
    await until(two, "b", ({ state }) => state === "ready");
    assert.deepEqual(
      [two.catalog.find("a")?.state, two.catalog.find("a")?.version],
      ["ready", version],
    );
  });

  test("the own folder is served where it has a flow, and what others have once it has not", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one") });
    const two = await cluster.join("two", { "a.ts": greet("two") });
    const mine = two.catalog.find("a");
    assert.equal(mine?.node, null);
    const borrowed = two.fixture.change(({ node }) => node === "one");
    await two.fixture.remove("a.ts");
    assert.equal((await borrowed).version, one.catalog.find("a")?.version);
    const own = two.fixture.change(({ node }) => node === null);
    await two.fixture.write("a.ts", greet("two again"));
    assert.notEqual((await own).version, mine?.version);
    assert.equal(one.catalog.find("a")?.node, null);
  });

  test("a node that is gone withdraws nothing; a folder that changed meanwhile does at its start", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("a"), "b.ts": greet("b") });
    const two = await cluster.join("two", {});
    await until(two, "a", ({ state }) => state === "ready");
    await until(two, "b", ({ state }) => state === "ready");
    await one.stop();
    const three = await cluster.join("three", {});
    assert.equal(three.catalog.find("a")?.state, "ready", "of a node that is gone");

    const gone = two.fixture.change(() => two.catalog.find("a") === undefined);
    await one.fixture.remove("a.ts");
    const { catalog } = await cluster.start("one", one.fixture);
    await gone;
    assert.equal(two.catalog.find("b")?.state, "ready");
    assert.equal(catalog.find("a"), undefined);
  });

  test("a folder that is looked at decides over what a node that is gone has left", async () => {
    await using cluster = await Cluster.open();
    const old = await cluster.join("old", { "a.ts": greet("old") });
    const two = await cluster.join("two", {});
    await until(two, "a", ({ state }) => state === "ready");
    await old.stop();
    const next = await cluster.join("next", { "a.ts": greet("next") });
    await until(two, "a", ({ node }) => node === "next");
    const gone = two.fixture.change(() => two.catalog.find("a") === undefined);
    await next.fixture.remove("a.ts");
    await gone;
  });

  test("a version that no folder has any longer is fetched for whom it is pinned", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("first") });
    const three = await cluster.join("three", {});
    const version = (await until(three, "a", ({ state }) => state === "ready")).version ?? "";
    await one.fixture.write("a.ts", greet("second"));
    await until(three, "a", (flow) => flow.version !== version);

    const two = await cluster.join("two", { "a.ts": greet("two") });
    assert.ok(!(await two.fixture.versions("a")).includes(version));
    const [spec, again] = await Promise.all([
      two.catalog.findVersion("a", version),
      two.catalog.findVersion("a", version),
    ]);
    assert.equal(spec?.version, version);
    assert.equal(spec, again, "fetched once");
    assert.equal(two.catalog.find("a")?.node, null, "what serves stays");
    two.catalog.verify(spec);
    assert.equal(await two.catalog.findVersion("a", "0".repeat(16)), undefined);
  });

  test("a pinned version that cannot run here is tried once, until all are looked at again", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("first") });
    const three = await cluster.join("three", {});
    const version = (await until(three, "a", ({ state }) => state === "ready")).version ?? "";
    await one.fixture.write("a.ts", greet("second"));
    await until(three, "a", (flow) => flow.version !== version);

    let [hasPackage, tries] = [false, 0];
    const missing = {
      kind: "broken",
      message: "Cannot find package 'money'",
      stack: "Error: Cannot find package 'money'",
    } as const;
    // That says nothing of the version.
    const full = {
      kind: "broken",
      message: "As many files are open as may be",
      stack: null,
    } as const;
    const two = await cluster.join(
      "two",
      { "a.ts": greet("two") },
      {
        async inspect(spec) {
          if (spec.version === version) tries += 1;
          if (spec.version !== version || hasPackage) return inspect(spec);
          return tries === 1 ? full : missing;
        },
      },
    );
    for (let n = 0; n < 4; n += 1)
      assert.equal(await two.catalog.findVersion("a", version), undefined);
    assert.equal(tries, 2);
    hasPackage = true;
    await two.catalog.reload();
    assert.equal((await two.catalog.findVersion("a", version))?.version, version);
    assert.equal(tries, 3);
  });

  test("versions that nobody needs are forgotten, and the files of no version", async () => {
    await using cluster = await Cluster.open();
    const { store } = await cluster.join("one", { "a.ts": greet("one") });
    const two = await cluster.join("two", {});
    const offered = (await until(two, "a", ({ state }) => state === "ready")).version ?? "";
    const now = Date.now();
    for (let at = 0; at < 14; at += 1)
      await run(
        store,
        sql`insert into flow_version
        values ('a', ${`old-${at}`}, 'a.ts', ${`[{"hash":"h${at}"}]`}, '', ${now - 60_000 + at})`,
      );
    await run(
      store,
      sql`insert into flow_version values ('gone', 'old', 'a.ts', '[]', '', ${now - MONTHS_MS})`,
    );
    for (const [version, files] of [
      ["cut", '[{"path":"c.ts","hash":"h6'],
      ["without", '[{"path":"c.ts"}]'],
    ])
      await run(
        store,
        sql`insert into flow_version values ('changed', ${version}, 'c.ts', ${files}, '', ${now})`,
      );
    for (const hash of ["h3", "h5", "h0", "none"])
      await run(store, sql`insert into flow_file values (${hash}, '', ${now - 2 * HOUR_MS})`);
    await run(store, sql`insert into flow_file values ('new', '', ${now})`);
    const pending = { status: "PENDING" as const, started_at: null, ended_at: null };
    const row = newRow(newExecutionId(), { ...pending, flow: "a", flow_version: "old-3" });
    const { input_value: _, ...input } = INPUT;
    const begin = { kind: "begin" as const, row, input, month: "2026-11" };
    await new Promise<void>((resolve, reject) =>
      store.ledger.append(begin, "1", { applied: resolve, failed: reject }),
    );
    await store.commit([deleteOldVersions(store, 11)]);
    await store.commit([deleteOldFiles(store)]);
    const left = await sql<{ version: string }>`select version from flow_version`.execute(
      store.rows,
    );
    const newest = Array.from({ length: 10 }, (_, at) => `old-${at + 4}`);
    assert.deepEqual(
      left.rows.map(({ version }) => version).toSorted(),
      [...newest, "old-3", offered, "cut", "without"].toSorted(),
      "the newest, what an execution waits for, and what is offered",
    );
    const files = await sql<{ hash: string }>`select hash from flow_file`.execute(store.rows);
    const hashes = files.rows.map(({ hash }) => hash).filter((hash) => hash.length < 9);
    assert.deepEqual(hashes.toSorted(), ["h3", "h5", "new"], "also beside what somebody cut");
  });

  test("nothing is borrowed where FLOWS_SHARED is false, and what is there is offered", async () => {
    await using cluster = await Cluster.open();
    await cluster.join("one", { "a.ts": greet("one") });
    const two = await cluster.join("two", { "b.ts": greet("two") }, { isBorrowing: false });
    const three = await cluster.join("three", {});
    await until(three, "a", ({ state }) => state === "ready");
    const { version } = await until(three, "b", ({ node }) => node === "two");
    assert.equal(two.catalog.find("a"), undefined);
    assert.equal(await two.catalog.findVersion("a", version ?? ""), undefined);
  });

  test("what cannot run here says why, and serves once it can", async () => {
    await using cluster = await Cluster.open();
    await cluster.join("one", { "a.ts": greet("a") });
    let hasPackage = false;
    const missing = "Cannot find package 'money'";
    const two = await cluster.join(
      "two",
      {},
      {
        inspect: async (spec) =>
          hasPackage ? inspect(spec) : { kind: "broken", message: missing, stack: null },
      },
    );
    const flow = await until(two, "a", ({ state }) => state === "broken");
    assert.deepEqual([flow.node, flow.spec, flow.error?.message], ["one", null, missing]);
    hasPackage = true;
    await until(two, "a", ({ state }) => state === "ready");
  });

  test("what this node does not allow is broken here alone", async () => {
    await using cluster = await Cluster.open();
    const asking = { inspect: async () => ({ kind: "flow", manifest: ASKS_NET }) as const };
    const one = await cluster.join("one", { "a.ts": greet("a") }, asking);
    const allow = { net: false, read: [], write: [] };
    const two = await cluster.join("two", {}, { ...asking, allow });
    const flow = await until(two, "a", ({ state }) => state === "broken");
    assert.match(flow.error?.message ?? "", /ALLOW_NET is false/);
    assert.equal(one.catalog.find("a")?.state, "ready");
  });
});

const ASKS_NET = {
  form: "function",
  description: null,
  permissions: { net: true, read: [], write: [], secrets: [] },
  timeout_sec: null,
  memory_mb: null,
  isolation: "flow",
  has_input_schema: false,
  schemas: null,
} as const;

suite("what somebody changed in the database", () => {
  const TAMPERED = {
    "a file": sql`update flow_file set bytes = convert_to('export default () => "evil";', 'UTF8')`,
    "a list of files": sql`update flow_version set files = replace(files, 'a.ts', 'b.ts')`,
    "a version": sql`update flow_version set seal = repeat('A', 43)`,
    "a missing file": sql`delete from flow_file`,
  };
  for (const [what, statement] of Object.entries(TAMPERED))
    test(`${what} is refused with words, and stored again by a reload`, async () => {
      await using cluster = await Cluster.open();
      const one = await cluster.join("one", { "a.ts": greet("one") });
      const three = await cluster.join("three", {});
      await until(three, "a", ({ state }) => state === "ready");
      await run(one.store, statement);
      const two = await cluster.join("two", {});
      const flow = two.catalog.find("a");
      assert.equal(flow?.state, "broken");
      assert.match(flow?.error?.message ?? "", /in the database.*POST \/flow\/reload on the node/);
      assert.equal(flow?.spec, null);
      assert.deepEqual(await two.fixture.versions("a"), []);
      assert.equal(three.catalog.find("a")?.state, "ready", "who has it goes on");

      await one.catalog.reload();
      await until(two, "a", ({ state }) => state === "ready");
    });

  test("a file that is larger than any of a flow is not read", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one") });
    const three = await cluster.join("three", {});
    await until(three, "a", ({ state }) => state === "ready");
    await run(
      one.store,
      sql`update flow_file set bytes = convert_to(repeat('x', 33 * 1024 * 1024), 'UTF8')`,
    );
    const two = await cluster.join("two", {});
    const message = two.catalog.find("a")?.error?.message ?? "";
    assert.match(message, /'a.ts'.+ is not in the database any more/);
  });

  test("a list of files that is larger than any is not read", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one") });
    const three = await cluster.join("three", {});
    await until(three, "a", ({ state }) => state === "ready");
    const large = sql`update flow_version set files = repeat('x', 9 * 1024 * 1024)`;
    await run(one.store, large);
    const two = await cluster.join("two", {});
    const message = two.catalog.find("a")?.error?.message ?? "";
    assert.match(message, /Version .+ is not in the database any more/);
  });

  test("an older version that somebody offers again serves nowhere, and is offered no more", async () => {
    await using cluster = await Cluster.open();
    const one = await cluster.join("one", { "a.ts": greet("one") });
    const three = await cluster.join("three", {});
    const old = (await until(three, "a", ({ state }) => state === "ready")).version ?? "";
    await one.fixture.write("a.ts", greet("newer"));
    const newer = await until(three, "a", ({ version }) => version !== old);
    const rolledBack = sql`update node_flow set version = ${old}, taken_at = taken_at + 1`;
    await run(one.store, rolledBack);
    const two = await cluster.join("two", {});
    const refused = two.catalog.find("a");
    assert.equal(refused?.spec, null);
    assert.match(refused?.error?.message ?? "", /not sealed with this data key/);
    await run(one.store, sql`update flow_offers set revision = revision + 1`);
    const mended = await until(two, "a", ({ state }) => state === "ready");
    assert.equal(mended.version, newer.version, "its node has stored it once more");
    assert.equal(three.catalog.find("a")?.version, newer.version);
  });

  test("what another data key sealed is refused", async () => {
    await using cluster = await Cluster.open();
    await cluster.join("one", { "a.ts": greet("one") }, { key: Buffer.alloc(32, 2) });
    const two = await cluster.join("two", {});
    const flow = await until(two, "a", ({ state }) => state === "broken");
    assert.match(flow.error?.message ?? "", /not sealed with this data key/);
  });

  test("an offer that names no version or no flow is left out", async () => {
    await using cluster = await Cluster.open();
    await cluster.join("one", { "a.ts": greet("one") });
    const two = await cluster.join("two", {});
    await until(two, "a", ({ state }) => state === "ready");
    for (const [flow, version] of [
      ["..", "0123456789abcdef"],
      ["a/../b", "0123456789abcdef"],
      ["b", "../../../x"],
    ] as const) {
      const stored = sql`insert into flow_version values (${flow}, ${version}, 'a.ts', '[]', '', 0)`;
      await run(two.store, stored);
      await run(
        two.store,
        sql`insert into node_flow
        values ('elsewhere', ${flow}, ${version}, null, 'x', 'x', 0, '')`,
      );
    }
    await run(two.store, sql`update flow_offers set revision = revision + 1`);
    const three = await cluster.join("three", {});
    assert.deepEqual(
      three.catalog.list().map(({ name }) => name),
      ["a"],
    );
  });
});
