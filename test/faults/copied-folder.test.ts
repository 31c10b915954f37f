import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { poll } from "../blackbox/scenario.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { untilReady } from "./cluster-watch.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** One DATA_DIR, node.id with it, in two places: a copy, or the same folder mounted elsewhere. */

const SLEEP = `export default async () => {
  await new Promise((resolve) => setTimeout(resolve, 60_000));
};`;

/** Whose end is waited for, and one that is not over before a slow start has looked at it. */
const [SHORT_SEC, LONG_SEC] = [6, 60];

let server: PostgresServer;

/** A node, and a service in a copy of its folder that was not started. */
async function openCopied(
  opened: AsyncDisposableStack,
  leaseSec: number,
): Promise<{ original: TestService; copy: TestService; url: string }> {
  const url = await server.createDatabase();
  const config = {
    DATABASE_URL: url,
    DATA_KEY: "0123456789abcdef".repeat(4),
    NODE_LEASE_SEC: leaseSec,
  };
  const options = { config, files: { "sleep.ts": SLEEP } };
  const original = opened.use(await openTestService(options));
  const copy = opened.use(await openTestService({ ...options, start: false }));
  await cp(original.data, copy.data, {
    recursive: true,
    filter: (path) => !path.endsWith(".sock"),
  });
  return { original, copy, url };
}

/** Until no node has one. */
async function untilLeaseIsOver(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  const sql = `select from node where lease_until >= extract(epoch from clock_timestamp()) * 1000`;
  await poll("its end", async () => (await client.query(sql)).rowCount === 0 || null);
  await client.end();
}

async function assertRefused(service: TestService): Promise<void> {
  await assert.rejects(service.start(), (error: Error) => {
    assert.match(error.message, /ended with 1\b/);
    assert.match(error.message, /has the same DATA_DIR\/node\.id\. If this folder is a copy/);
    assert.match(error.message, /remove node\.id here/);
    return true;
  });
}

describe("a DATA_DIR in two places", () => {
  before(async () => {
    server = await openPostgres();
  });
  after(() => server.stop());

  test("of two services with one DATA_DIR the second is refused, and takes nothing from the first", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy } = await openCopied(opened, LONG_SEC);
    await copy.configure({ DATA_DIR: original.data });
    await assert.rejects(copy.start(), /Another service runs on the data folder/);
    await untilReady(original, 200);
    assert.doesNotMatch(original.logs(), /given up/);
  });

  test("a copy is refused while its original lives, or may do so", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy } = await openCopied(opened, LONG_SEC);
    await assertRefused(copy);
    await original.assertAlive();
    await untilReady(original, 200);
    await original.kill();
    await assertRefused(copy);
  });

  test("a folder that is mounted elsewhere starts once its lease is over, and ends what ran", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy, url } = await openCopied(opened, SHORT_SEC);
    await original.createWebhook("sleep", "sleep");
    const answer = await original.call("sleep", "?async");
    const id = answer.headers["flowhook-execution-id"] ?? "";
    await poll("it to run", async () => {
      const { text } = await original.api("GET", `/execution/${id}`);
      return text.includes('"status":"RUNNING"') || null;
    });
    await original.kill();
    await untilLeaseIsOver(url);
    await copy.start();
    const { text } = await copy.api("GET", `/execution/${id}`);
    assert.match(text, /"status_message":"interrupted by a restart"/);
    await assertRefused(original);
  });

  test("an original that was paused serves no more where its copy has started, and says why", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy, url } = await openCopied(opened, SHORT_SEC);
    await original.createWebhook("sleep", "sleep");
    original.signal("SIGSTOP");
    await untilLeaseIsOver(url);
    await copy.start();
    original.signal("SIGCONT");
    await untilReady(original, 503);
    await poll(
      "the log to say why",
      async () =>
        /has the same DATA_DIR\/node\.id\. If this folder is a copy/.test(original.logs()) || null,
    );
    const refused = await original.call("sleep", "?async");
    assert.equal(refused.status, 503, refused.text);
    assert.equal(original.logs().match(/This node was given up/g)?.length, 1);
    await copy.stop();
    await untilReady(original, 200);
  });
});
