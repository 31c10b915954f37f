import assert from "node:assert/strict";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { runCommand } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./test-service.ts";

/** Two services on one database, and files in the folder of the first alone. */

let server: PostgresServer;

const greet = (word: string) => `export default () => ${JSON.stringify(word)};\n`;

async function openNode(
  url: string,
  files: Readonly<Record<string, string>> = {},
  name = "node",
  more: Pick<TestServiceOptions, "config" | "prepare"> = {},
) {
  const own = { DATABASE_URL: url, DATA_KEY: "0123456789abcdef".repeat(4), NODE_NAME: name };
  return openTestService({ ...more, config: { ...own, ...more.config }, files });
}

/** Puts a package into the folder of a node, which no other node has. */
async function addPackage(directory: string): Promise<void> {
  const folder = join(directory, "plugins", "node_modules", "lp");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), '{"name":"lp","main":"index.js"}');
  await writeFile(join(folder, "index.js"), 'module.exports = "of lp";');
}

const IMPORTING = 'import lp from "lp";\nexport default () => lp;\n';

async function call(service: TestService, webhook: string): Promise<string> {
  const { status, text } = await service.call(webhook, "", { headers: { prefer: "wait=20" } });
  return `${status} ${text}`;
}

const hold = (service: TestService) => call(service, "w");

const write = (service: TestService, word: string) =>
  writeFile(join(service.plugins, "hello.ts"), greet(word));

/** Resolves once it holds. */
const until = (holds: () => Promise<boolean>) =>
  poll("a flow of another node", async () => ((await holds()) ? true : null));

interface ShownFlow {
  readonly version: string;
  readonly state: string;
  readonly node: string | null;
  readonly versions: readonly { readonly node: string; readonly version: string }[];
  readonly error: { readonly message: string } | null;
}

async function listOnCommandLine(service: TestService, ...options: string[]): Promise<string> {
  const { host, port } = service.origin;
  const given = { user_name: "admin", password: ADMIN_PASSWORD };
  const login = await service.api("POST", "/auth/login", given, "");
  const { token } = JSON.parse(login.text) as { token: string };
  const { stdout } = await runCommand(service.target, ["flow", "list", ...options], {
    cwd: service.directory,
    env: { FLOWHOOK_URL: `http://${host}:${port}`, FLOWHOOK_TOKEN: token },
  });
  return stdout;
}

async function findFlow(service: TestService): Promise<ShownFlow | null> {
  const { status, text } = await service.api("GET", "/flow/hello");
  return status === 200 ? (JSON.parse(text) as ShownFlow) : null;
}

describe("flows that services share", () => {
  before(async () => {
    server = await openPostgres();
  });
  after(() => server.stop());

  test("what one folder has answers on both, in its version, until the file is deleted", async () => {
    const url = await server.createDatabase();
    await using one = await openNode(url, { "hello.ts": greet("first") });
    await using two = await openNode(url);
    await one.createWebhook("w", "hello", { sync_mode: "hold" });
    await until(async () => (await hold(two)) === '200 "first"');
    const first = await findFlow(two);
    assert.equal(typeof first?.node, "string");
    assert.equal((await findFlow(one))?.node, null);
    const started = await two.api("POST", "/flow/hello/execution", {});
    const { id } = JSON.parse(started.text) as { id: string };

    await write(one, "second");
    await until(async () => (await hold(two)) === '200 "second"');
    await write(one, "");
    await writeFile(join(one.plugins, "hello.ts"), "export default 7;");
    await until(async () => (await findFlow(one))?.state === "broken");
    assert.equal(await hold(one), '200 "second"');
    assert.equal(await hold(two), '200 "second"');

    await using three = await openNode(url);
    const flow_version = first?.version;
    const again = await three.api("POST", `/execution/${id}/replay`, { flow_version });
    assert.equal(again.status, 201, again.text);
    const replayed = JSON.parse(again.text) as { id: string };
    const ended = await poll("its end", async () => {
      const { status, text } = await three.api("GET", `/execution/${replayed.id}/wait`);
      return status === 302 ? null : text;
    });
    const { output_value } = JSON.parse(ended) as { output_value: unknown };
    assert.equal(output_value, "first", "a version that no folder has any longer");

    await rm(join(one.plugins, "hello.ts"));
    await until(async () => (await findFlow(two)) === null && (await findFlow(three)) === null);
  });

  test("which node has which version is shown at each, until they agree", async () => {
    const url = await server.createDatabase();
    await using one = await openNode(url, { "hello.ts": greet("first") }, "one");
    await using two = await openNode(url, { "hello.ts": greet("second") }, "two");
    const differ = (isSo: boolean) =>
      until(async () => {
        const flows = await Promise.all([one, two].map(findFlow));
        return flows.every((flow) => flow !== null && flow.versions.length > 0 === isSo);
      });
    await differ(true);
    const expected = [
      { node: "one", version: (await findFlow(one))?.version },
      { node: "two", version: (await findFlow(two))?.version },
    ];
    const both = await Promise.all([one, two].map(findFlow));
    assert.deepEqual(
      both.map((flow) => flow?.versions),
      [expected, expected],
    );
    const list = await listOnCommandLine(one);
    const lines = expected.map(({ node, version }) => `  ${version?.slice(0, 12)} at ${node}`);
    assert.ok(list.includes(`\nhello differs between nodes\n${lines.join("\n")}\n`), list);
    assert.match(await listOnCommandLine(one, "--json"), /"versions": \[\s*\{\s*"node": "one"/);
    await write(two, "first");
    await differ(false);
    assert.doesNotMatch(await listOnCommandLine(two), /differs/);
  });

  test("a node that cannot run a flow answers with what another one runs", async () => {
    const url = await server.createDatabase();
    const out = join(tmpdir(), "flowhook-for-others");
    const writing = `import { defineFlow } from "flowhook";
      export default defineFlow({
        permissions: { write: [${JSON.stringify(out)}] },
        run: () => "may write",
      });`;
    const files = { "hello.ts": greet("good"), "pk.ts": IMPORTING, "writing.ts": writing };
    const config = { NODE_LEASE_SEC: 6, ALLOW_WRITE: [out] };
    await using one = await openNode(url, files, "one", { prepare: addPackage, config });
    for (const flow of ["hello", "pk", "writing"])
      await one.createWebhook(flow, flow, { sync_mode: "hold" });
    await using two = await openNode(url, { "hello.ts": "export default 7;" }, "two");
    const isBroken = async (flow: string) => {
      const { status, text } = await two.api("GET", `/flow/${flow}`);
      return status === 200 && (JSON.parse(text) as ShownFlow).state === "broken";
    };
    await until(async () =>
      (await Promise.all(["hello", "pk", "writing"].map(isBroken))).every(Boolean),
    );
    // The nodes count each other once a second.
    await until(async () => (await call(two, "pk")) === '200 "of lp"');

    for (let round = 0; round < 5; round += 1)
      assert.deepEqual(
        await Promise.all(["hello", "pk", "writing"].map((flow) => call(two, flow))),
        ['200 "good"', '200 "of lp"', '200 "may write"'],
      );
    const started = await two.api("POST", "/flow/pk/execution", {});
    const { id } = JSON.parse(started.text) as { id: string };
    const ended = await poll("its end", async () => {
      const { text } = await two.api("GET", `/execution/${id}`);
      const shown = JSON.parse(text) as { status: string; node: string; flow_version: string };
      return shown.status === "ENDED_SUCCESS" ? shown : null;
    });
    assert.equal(ended.node, "one");
    assert.match(ended.flow_version, /^[0-9a-f]{16}$/);

    await one.kill();
    assert.match(await call(two, "pk"), /^500 .*is broken, and no version of it serves/);
  });

  test("what its node has left is served by others, and code of others is not", async () => {
    const url = await server.createDatabase();
    await using one = await openNode(url, { "hello.ts": greet("mine") });
    await one.createWebhook("w", "hello", { sync_mode: "hold" });
    await using two = await openNode(url);
    await until(async () => (await hold(two)) === '200 "mine"');
    await one.kill();
    await two.stop();
    await rm(two.data, { recursive: true, maxRetries: 5 });
    await two.start();
    assert.equal(await hold(two), '200 "mine"', "from the first call on");

    await two.stop();
    await rm(two.data, { recursive: true, maxRetries: 5 });
    const client = new pg.Client(url);
    await client.connect();
    await client.query("update flow_file set bytes = convert_to($1, 'UTF8')", [greet("evil")]);
    await client.end();
    await two.start();
    const flow = await findFlow(two);
    assert.equal(flow?.state, "broken");
    assert.match(flow?.error?.message ?? "", /'hello.ts' .* was changed in the database/);
    assert.doesNotMatch(await hold(two), /evil|mine/);
    await one.start();
    await until(async () => (await hold(two)) === '200 "mine"');
  });
});
