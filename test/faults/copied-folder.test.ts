import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { poll } from "../blackbox/scenario.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { untilReady } from "./cluster-watch.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** One DATA_DIR, node.id with it, in two places: a copy, or the same folder mounted elsewhere. */

const SLEEP = `export default async () => {
  await new Promise((resolve) => setTimeout(resolve, 60_000));
};`;

const LEASE_MS = 3000;

let server: PostgresServer;

/** A node, and a service in a copy of its folder that was not started. */
async function openCopied(
  opened: AsyncDisposableStack,
): Promise<{ original: TestService; copy: TestService }> {
  const config = {
    DATABASE_URL: await server.createDatabase(),
    DATA_KEY: "0123456789abcdef".repeat(4),
    NODE_LEASE_SEC: LEASE_MS / 1000,
  };
  const options = { config, files: { "sleep.ts": SLEEP } };
  const original = opened.use(await openTestService(options));
  const copy = opened.use(await openTestService({ ...options, start: false }));
  await cp(original.data, copy.data, {
    recursive: true,
    filter: (path) => !path.endsWith(".sock"),
  });
  return { original, copy };
}

async function assertRefused(service: TestService): Promise<void> {
  await assert.rejects(service.start(), (error: Error) => {
    assert.match(error.message, /ended with 78/);
    assert.match(error.message, /has the same DATA_DIR\/node\.id: this folder is a copy/);
    assert.match(error.message, /Remove node\.id here, and start again/);
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
    const { original, copy } = await openCopied(opened);
    await copy.configure({ DATA_DIR: original.data });
    await assert.rejects(copy.start(), /Another service runs on the data folder/);
    await untilReady(original, 200);
    assert.doesNotMatch(original.logs(), /given up/);
  });

  test("a copy is refused while its original lives, or may do so", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy } = await openCopied(opened);
    await assertRefused(copy);
    await original.assertAlive();
    await untilReady(original, 200);
    await original.kill();
    await assertRefused(copy);
  });

  test("a folder that is mounted elsewhere starts once its lease is over, and ends what ran", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy } = await openCopied(opened);
    await original.createWebhook("sleep", "sleep");
    const answer = await original.call("sleep", "?async");
    const id = answer.headers["flowhook-execution-id"] ?? "";
    await poll("it to run", async () => {
      const { text } = await original.api("GET", `/execution/${id}`);
      return text.includes('"status":"RUNNING"') || null;
    });
    await original.kill();
    await wait(LEASE_MS);
    await copy.start();
    const { text } = await copy.api("GET", `/execution/${id}`);
    assert.match(text, /"status_message":"interrupted by a restart"/);
    await assertRefused(original);
  });

  test("an original that was paused serves no more where its copy has started, and says why", async () => {
    await using opened = new AsyncDisposableStack();
    const { original, copy } = await openCopied(opened);
    await original.createWebhook("sleep", "sleep");
    original.signal("SIGSTOP");
    await wait(LEASE_MS);
    await copy.start();
    original.signal("SIGCONT");
    await untilReady(original, 503);
    await poll(
      "the log to say why",
      async () =>
        /has the same DATA_DIR\/node\.id: this folder is a copy/.test(original.logs()) || null,
    );
    const refused = await original.call("sleep", "?async");
    assert.equal(refused.status, 503, refused.text);
    assert.equal(original.logs().match(/This node was given up/g)?.length, 1);
    await copy.stop();
    await untilReady(original, 200);
  });
});
