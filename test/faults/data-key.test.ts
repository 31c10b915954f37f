import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Services on one database have one data key: in DATA_KEY, or in the secret.key of each. */

const KEY = "0123456789abcdef".repeat(4);

let server: PostgresServer;

/** A service that was filled and has stopped, and the configuration of the next one. */
async function openFilled(stack: AsyncDisposableStack, env: Record<string, string> = {}) {
  const config = { DATABASE_URL: await server.createDatabase() };
  const first = stack.use(await openTestService({ config, env }));
  await first.stop();
  return { first, config };
}

function keyOf({ data }: TestService): string {
  return join(data, "secret.key");
}

async function assertRefused(service: TestService, message: RegExp): Promise<void> {
  await assert.rejects(service.start(), (error: Error) => {
    assert.match(error.message, message);
    assert.match(error.message, /ended with 78/);
    return true;
  });
}

describe("data key of several services", () => {
  before(async () => {
    server = await openPostgres();
  });
  after(() => server.stop());

  test("without the key of the database none is made, and with it the service starts", async () => {
    await using stack = new AsyncDisposableStack();
    const { first, config } = await openFilled(stack);
    const other = stack.use(await openTestService({ config, start: false }));
    await assertRefused(other, /Found no data key.+Copy secret\.key of another node to/s);
    assert.ok(!existsSync(keyOf(other)));
    await cp(keyOf(first), keyOf(other));
    await other.start();
  });

  test("another key is refused, and DATA_KEY wins over the file", async () => {
    await using stack = new AsyncDisposableStack();
    const { first, config } = await openFilled(stack);
    const stranger = stack.use(await openTestService());
    await stranger.stop();
    const other = stack.use(await openTestService({ config, start: false }));
    await cp(keyOf(stranger), keyOf(other));
    await assertRefused(other, /Found another data key \(secret\.key\)/);
    const digits = (await readFile(keyOf(first), "utf8")).trim();
    await other.configure({ DATA_KEY: digits });
    await other.start();
    await other.stop();
    await other.configure({ DATA_KEY: KEY });
    await assertRefused(other, /Found another data key \(DATA_KEY\).+Set DATA_KEY to the key of/s);
    for (const secret of [digits, KEY]) assert.ok(!other.logs().includes(secret));
  });

  test("with DATA_KEY no file is made, and neither API, logs nor database have it", async () => {
    await using stack = new AsyncDisposableStack();
    const env = { FLOWHOOK_DATA_KEY: KEY };
    const { first, config } = await openFilled(stack, env);
    assert.ok(!existsSync(keyOf(first)));
    await first.start();
    const shown = await first.api("GET", "/config");
    assert.match(shown.text, /"key":"DATA_KEY","value":null,"source":"environment"/);
    assert.ok(!`${shown.text}${first.logs()}`.includes(KEY));
    const client = new pg.Client(config.DATABASE_URL);
    await client.connect();
    const { rows } = await client.query("select * from key_check");
    await client.end();
    assert.equal(rows.length, 1);
    assert.ok(!JSON.stringify(rows).includes(KEY));
  });

  test("a file of SQLite takes it too, and says which secrets another one does not open", async () => {
    await using service = await openTestService({ config: { DATA_KEY: KEY } });
    assert.ok(!existsSync(keyOf(service)));
    await service.api("POST", "/secret", { name: "S", value: "the value" });
    await service.stop();
    await service.configure({ DATA_KEY: "f".repeat(64) });
    await service.start();
    assert.match(service.logs(), /1 secret was encrypted with another key: set DATA_KEY to that/);
  });
});
