import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type * as Bundle from "../../scripts/bundle.ts";
import type * as Targets from "../../scripts/targets.ts";
import { NODE, ROOT, type Target } from "../blackbox/target.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { assertNothingLost, openLoad, Told } from "./cluster-load.ts";
import { assertServes } from "./cluster-watch.ts";
import { openCluster, type Cluster } from "./cluster.ts";
import { figure, openRandom, SEED } from "./sizes.ts";

/** A roll-out to a program that adds to the tables: the older one serves on beside it. */

const NEWER = "99.0.0";

/** What a build reads. */
const SOURCES = [
  "src",
  "scripts",
  "plugins",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "CHANGELOG.md",
  "LICENSE",
];

const MIGRATION = `import { sql, type Kysely } from "kysely";
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["execution", "execution_input", "execution_output", "webhook", "node", "audit"])
    await sql\`alter table \${sql.table(table)} add column added text not null default 'new'\`.execute(db);
}
`;

let server: PostgresServer;
let newer: Target;
const opened = new AsyncDisposableStack();

before(async () => {
  server = await openPostgres();
  opened.defer(() => server.stop());
  newer = await copyProgram();
});
after(() => opened.disposeAsync());

/** This program's sources as those of a later version, with one migration more. */
async function copyProgram(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-newer-"));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  for (const name of SOURCES) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await change(join(folder, "package.json"), /"version": "[^"]+"/, `"version": "${NEWER}"`);
  const migrations = join(folder, "src/server/store/migrations");
  await writeFile(join(migrations, "9999-added.ts"), MIGRATION);
  const list = join(migrations, "migrations.ts");
  await change(list, /^/, 'import * as added from "./9999-added.ts";\n');
  await change(list, /^\]\);/m, '  ["9999-added", added.up],\n]);');
  return { name: "bundle", skip: null, command: [NODE, await bundle(folder)] };
}

/** @returns the program that the sources make, built by their own scripts */
async function bundle(folder: string): Promise<string> {
  const scripts = join(folder, "scripts");
  const { bundleProgram, gatherAssets } = (await import(
    join(scripts, "bundle.ts")
  )) as typeof Bundle;
  const { hostTarget, TARGETS } = (await import(join(scripts, "targets.ts"))) as typeof Targets;
  const name = hostTarget();
  const target = TARGETS[name];
  if (target === undefined) throw new Error(`Cannot build for ${name}`);
  const program = join(folder, "flowhook.mjs");
  await writeFile(program, await bundleProgram(name, await gatherAssets(target)));
  return program;
}

async function change(file: string, what: RegExp, to: string): Promise<void> {
  const text = await readFile(file, "utf8");
  const changed = text.replace(what, to);
  assert.notEqual(changed, text, file);
  await writeFile(file, changed);
}

async function versions({ nodes }: Cluster): Promise<string[]> {
  const answer = await nodes[0]?.service.api("GET", "/workspace");
  const { nodes: shown } = JSON.parse(answer?.text ?? "") as { nodes: { version: string }[] };
  return shown.map(({ version }) => version).toSorted();
}

describe("an older and a newer program on one database", () => {
  test("the older one serves on after the newer one has added to the tables, and starts no more", async () => {
    await using cluster = await openCluster(server, { nodes: 2 });
    const told = new Told();
    const [older] = await versions(cluster);
    await using running = openLoad(cluster, told, { callers: 4, random: openRandom(SEED) });
    await cluster.add({ target: newer });
    assert.deepEqual(await versions(cluster), [older, older, NEWER]);
    const before = told.acknowledged.size;
    for (const { service } of cluster.nodes) await assertServes(service);
    await told.untilAcknowledged(20);
    await running[Symbol.asyncDispose]();
    figure("nodes: acknowledged before the newer program", before);
    figure("nodes: acknowledged with the newer program", told.acknowledged.size);
    assert.equal(told.broken, 0, "broken connections");
    assert.deepEqual(
      [...told.answers.keys()].filter((status) => status >= 400),
      [],
    );
    await assertNothingLost(cluster, told, 20);

    const [{ service }] = cluster.nodes.splice(0, 1) as [Cluster["nodes"][number]];
    assert.equal(await service.stop(), 0);
    await assert.rejects(service.start(), (error: Error) => {
      assert.match(error.message, /was written by a newer version of Flowhook/);
      assert.match(error.message, /migration "9999-added" is not known here/);
      return true;
    });
    for (const one of cluster.nodes) await assertServes(one.service);
  });
});
