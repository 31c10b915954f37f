import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { figure } from "./sizes.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** What two services on one database have to agree on: each is asked right after the other. */

const ECHO = `
  import { defineFlow } from "flowhook";
  export default defineFlow({ run: (flow) => ({ id: flow.execution.id }) });
`;

const SLEEP = `
  import { defineFlow } from "flowhook";
  export default defineFlow({ run: () => new Promise((resolve) => setTimeout(resolve, 600_000)) });
`;

const DATA_KEY = "0123456789abcdef".repeat(4);

let server: PostgresServer;

type Pair = readonly [one: TestService, other: TestService];

/** Two services, which start at the same time. */
async function openPair(stack: AsyncDisposableStack, config: object = {}): Promise<Pair> {
  const DATABASE_URL = await server.createDatabase();
  const open = async () =>
    stack.use(
      await openTestService({
        config: { DATABASE_URL, DATA_KEY, ...config },
        files: { "echo.ts": ECHO, "sleep.ts": SLEEP },
        start: false,
      }),
    );
  const pair = [await open(), await open()] as const;
  await Promise.all(pair.map((service) => service.start()));
  return pair;
}

async function query<Row extends object>(service: TestService, sql: string): Promise<Row[]> {
  const shown = JSON.parse((await service.api("GET", "/config")).text) as {
    items: { key: string; value: string }[];
  };
  const { value = "" } = shown.items.find(({ key }) => key === "DATABASE_URL") ?? {};
  const url = new URL(server.url);
  url.pathname = new URL(value).pathname;
  const client = new pg.Client(url.href);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** What a service tells of executions, from now on. */
async function listen(stack: AsyncDisposableStack, { api, origin }: TestService) {
  const given = { user_name: "admin", password: ADMIN_PASSWORD };
  const { token } = JSON.parse((await api("POST", "/auth/login", given)).text) as { token: string };
  const listening = new AbortController();
  const url = `http://${origin.host}:${origin.port}/api/latest/execution/events`;
  const headers = { "x-service-token": token };
  const answer = await fetch(url, { headers, signal: listening.signal });
  let told = "";
  const reading = (async () => {
    for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) told += text;
  })().catch(() => {});
  stack.defer(async () => {
    listening.abort();
    await reading;
  });
  return () => told;
}

function statusOf(service: TestService, path: string, headers: Record<string, string> = {}) {
  return service.call("hook", path, { headers }).then(({ status }) => status);
}

describe("several services on one database", () => {
  before(async () => {
    server = await openPostgres();
  });
  after(() => server.stop());

  test("of two first starts at once one makes administrator and roles, and both serve", async () => {
    await using stack = new AsyncDisposableStack();
    const [one, other] = await openPair(stack);
    const [counts] = await query(
      one,
      `select (select count(*)::int from "user") as users, (select count(*)::int from project) as
        projects, (select count(*)::int from key_check) as keys`,
    );
    assert.deepEqual(counts, { users: 1, projects: 1, keys: 1 });
    await one.createWebhook("hook", "echo", { is_productive: true });
    for (const service of [one, other])
      assert.equal(await statusOf(service, "?async"), 201, service.logs());
  });

  test("a change of a webhook holds on the other service once it is answered", async () => {
    await using stack = new AsyncDisposableStack();
    const [one, other] = await openPair(stack);
    await one.createWebhook("hook", "echo", { is_productive: true });
    const set = async (service: TestService, change: object): Promise<void> => {
      const body = { password: ADMIN_PASSWORD, require_login: false, key: null, ...change };
      const { status, text } = await service.api("PUT", "/webhook/hook/authentication", body);
      assert.equal(status, 200, text);
    };
    for (let round = 0; round < 6; round += 1) {
      const [changing, called] = round % 2 === 0 ? [one, other] : [other, one];
      const stop = new AbortController();
      // The row is kept there all the time.
      const calling = (async () => {
        while (!stop.signal.aborted) await statusOf(called, "?async");
      })();
      await set(changing, { is_enabled: false });
      assert.equal(await statusOf(called, "?async"), 404, "disabled");
      const key = `fhk_${"k".repeat(20)}${round}`;
      await set(changing, { is_enabled: true, key });
      assert.equal(await statusOf(called, "?async"), 401, "without its key");
      assert.equal(await statusOf(called, `?async&key=${key}`), 201);
      await set(changing, { is_enabled: true, key: `${key}x` });
      assert.equal(await statusOf(called, `?async&key=${key}`), 401, "with the key of before");
      await set(changing, { is_enabled: true });
      stop.abort();
      await calling;
    }
  });

  test("200 duplicates over both start one execution, and each is told of it", async () => {
    await using stack = new AsyncDisposableStack();
    const pair = await openPair(stack);
    const idempotency = { from: "header:idempotency-key" };
    await pair[0].createWebhook("hook", "echo", { is_productive: true, idempotency });
    let fresh = 0;
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) =>
          (pair[n % 2] as TestService).call("hook", "?async", {
            headers: { "idempotency-key": `key-${round}` },
          }),
        ),
      );
      const wrong = answers.find(({ status }) => status !== 201);
      assert.equal(wrong?.text, undefined);
      const ids = new Set(answers.map(({ headers }) => headers["flowhook-execution-id"]));
      assert.equal(ids.size, 1, [...ids].join(", "));
      fresh += answers.filter(({ headers }) => headers["idempotent-replayed"] !== "true").length;
    }
    assert.equal(fresh, 5, "who was told that he started it");
    const rows = await query(pair[0], "select id from execution");
    assert.equal(rows.length, 5);
    figure("duplicates over two services: executions of 5 keys", rows.length);
  });

  test("failed logins count over both", async () => {
    await using stack = new AsyncDisposableStack();
    const pair = await openPair(stack);
    const login = (service: TestService, password: string) =>
      service.api("POST", "/auth/login", { user_name: "admin", password }, "");
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1)
      statuses.push((await login(pair[n % 2] as TestService, "wrong")).status);
    assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
    for (const service of pair) assert.equal((await login(service, ADMIN_PASSWORD)).status, 429);
    const kept = await query<{ key: string }>(pair[0], "select key from attempt");
    assert.ok(kept.length > 0 && kept.every(({ key }) => !key.includes("admin")));
  });

  test("who is active at one wakes the development webhooks of the other", async () => {
    await using stack = new AsyncDisposableStack();
    const [one, other] = await openPair(stack, { DEVELOPMENT_INACTIVITY_SEC: 10 });
    await one.createWebhook("hook", "echo", { is_productive: false });
    for (const service of [one, other])
      await poll("it to sleep", async () => (await statusOf(service, "?async")) === 402 || null);
    assert.equal(await statusOf(one, "?async"), 402);
    await one.api("POST", "/workspace/activity");
    for (const service of [other, one]) assert.equal(await statusOf(service, "?async"), 201);
  });

  test("what a busy service does is told at the other, also of what began before", async () => {
    await using stack = new AsyncDisposableStack();
    const [one, other] = await openPair(stack);
    for (const flow of ["echo", "sleep"]) await one.createWebhook(flow, flow);
    const start = async (webhook: string) => {
      const { headers } = await one.call(webhook, "?async");
      return headers["flowhook-execution-id"] ?? "";
    };
    const startMany = () => Promise.all(Array.from({ length: 300 }, () => start("echo")));
    const sleeping = await start("sleep");
    await startMany();
    const told = await listen(stack, other);
    // One after the other: in what is read at once a first look is done.
    await other.api("GET", "/execution?limit=1");
    const begun = await startMany();
    const missed = () => begun.filter((id) => !told().includes(id)).length;
    await poll("each that began", async () => (missed() === 0 ? true : null), 10_000).catch(
      () => {},
    );
    assert.equal(missed(), 0, "missed of 300");
    assert.equal((await one.api("POST", `/execution/${sleeping}/cancel`)).status, 200);
    const isCancelled = () => new RegExp(`"${sleeping}".*ENDED_CANCELLED`).test(told());
    await poll("the end of one that began before", async () => isCancelled() || null, 20_000);
  });

  test("an allowance is exact over both, and both tell what is used", async () => {
    await using stack = new AsyncDisposableStack();
    const pair = await openPair(stack, { CONNECTION_ALLOWANCE: 50 });
    await pair[0].createWebhook("hook", "echo", { is_productive: true });
    const statuses = await Promise.all(
      Array.from({ length: 120 }, (_, n) => statusOf(pair[n % 2] as TestService, "?async")),
    );
    assert.equal(statuses.filter((status) => status === 201).length, 50);
    assert.equal(statuses.filter((status) => status === 429).length, 70);
    for (const service of pair) {
      const { text } = await service.api("GET", "/workspace");
      const { connections } = JSON.parse(text) as { connections: { used: number } };
      assert.equal(connections.used, 50);
    }
    assert.equal((await query(pair[0], "select id from execution")).length, 50);
  });
});
