import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { RequestError } from "../../src/shared/errors.ts";
import { newId } from "../../src/shared/id.ts";
import type { WebhookRate } from "../../src/shared/contract/webhook-limits.ts";
import { deleteOldRefusals } from "../../src/server/store/retention.ts";
import { openPostgresStore } from "../../src/server/store/postgres/store.ts";
import type { SharedStore } from "../../src/server/store/shared-store.ts";
import {
  describeRate,
  OwnRates,
  SharedRates,
  type Bucket,
  type RateLimits,
} from "../../src/server/webhooks/rate-limit.ts";
import { poll } from "../blackbox/scenario.ts";
import { KINDS, urlOf, type Kind } from "./stores.ts";
import { POSTGRES_THREAD } from "./postgres-thread.ts";

/** Rates and refused calls: of one service, and of two on one database. */

async function openShared(stack: AsyncDisposableStack, url: string) {
  const folder = { folderId: newId(), folderPlace: "1:1" };
  const node = { name: "n", version: "0", leaseMs: 15_000, ...folder };
  const options = { url, durability: "normal", connections: 8, thread: POSTGRES_THREAD } as const;
  const store = stack.use(await openPostgresStore({ ...options, name: "t", node }));
  const { shared } = store;
  assert.ok(shared !== null);
  return { store, shared };
}

async function openBoth(stack: AsyncDisposableStack, name: string) {
  const url = await urlOf(name);
  const client = new pg.Client(url);
  const [one, other] = [await openShared(stack, url), await openShared(stack, url)];
  const both = [one.shared, other.shared] as const;
  await client.connect();
  stack.defer(() => client.end());
  return { both, client };
}

async function openRates(stack: AsyncDisposableStack, kind: Kind): Promise<RateLimits[]> {
  if (kind === "sqlite") return [new OwnRates()];
  return (await openBoth(stack, "rates.db")).both.map((store) => new SharedRates(store));
}

/** Calls of a webhook, of which each comes to the next service. */
function openCalls(rates: readonly RateLimits[], webhook: string) {
  let count = 0;
  return async (rate: WebhookRate, partition: string | null = null): Promise<Taken> => {
    const one = rates[(count += 1) % rates.length] as RateLimits;
    try {
      return { bucket: await one.take(webhook, partition, rate) };
    } catch (error) {
      assert.ok(error instanceof RequestError && error.code === "rate_limited", String(error));
      return { retryAfter: Number(error.headers["retry-after"]) };
    }
  };
}

type Taken =
  | { readonly bucket: Bucket; readonly retryAfter?: never }
  | { readonly retryAfter: number; readonly bucket?: never };

/** Comes to no further token while a test runs. */
const SLOW: WebhookRate = { calls: 1, per_sec: 3600, burst: 20, by: "webhook" };

type Take = ReturnType<typeof openCalls>;

const CASES: Readonly<Record<string, (take: Take) => Promise<void>>> = {
  async "of many at once exactly as many pass as the burst is"(take) {
    const taken = await Promise.all(Array.from({ length: 200 }, () => take(SLOW)));
    const passed = taken.flatMap(({ bucket }) => bucket ?? []);
    assert.equal(passed.length, 20);
    for (const { retryAfter } of taken)
      assert.ok(retryAfter === undefined || (retryAfter > 3590 && retryAfter <= 3600));
    assert.equal((await take(SLOW)).bucket, undefined);
  },
  async "each is told what is left behind it"(take) {
    const told: string[] = [];
    for (let left = 2; left >= 0; left -= 1) {
      const { bucket } = await take({ ...SLOW, burst: 3 });
      assert.ok(bucket !== undefined);
      told.push(describeRate(bucket)["ratelimit"] ?? "");
    }
    for (const [at, line] of told.entries())
      assert.match(line, new RegExp(`^"calls";r=${2 - at};t=(3600|359\\d)$`));
  },
  async "who waits as long as Retry-After says is admitted"(take) {
    const rate = { ...SLOW, calls: 3, per_sec: 5, burst: 1 };
    const everySec = rate.per_sec / rate.calls;
    for (let round = 0; round < 2;) {
      const asked = performance.now();
      assert.ok((await take(rate)).bucket);
      const { retryAfter = null } = await take(rate);
      const passedSec = (performance.now() - asked) / 1000;
      // Of the time until the next token, so much is left at least: a busy machine may pause for it.
      const least = Math.max(0, Math.ceil(everySec - passedSec));
      assert.ok((retryAfter ?? 0) >= least && (retryAfter ?? 0) <= 2, `${retryAfter} of ${least}`);
      await wait(1000 * (retryAfter ?? 2));
      if (retryAfter !== null) round += 1;
    }
    assert.ok((await take(rate)).bucket);
  },
  async "tokens come back as fast as the rate says, however many ask"(take) {
    // The bucket holds those of ten seconds: none is lost while a busy machine pauses.
    const rate = { ...SLOW, calls: 70, per_sec: 1, burst: 700 };
    // Tokens come from the first call on, which is taken between these two moments.
    const asked = performance.now();
    assert.ok((await take(rate)).bucket);
    const answered = performance.now();
    const since = (begin: number) => 700 + ((performance.now() - begin) / 1000) * 70;
    let [passed, least, refused] = [1, 0, 0];
    while (performance.now() - asked < 1500 || refused === 0) {
      least = since(answered);
      const taken = await Promise.all(Array.from({ length: 200 }, () => take(rate)));
      const admitted = taken.filter(({ bucket }) => bucket).length;
      passed += admitted;
      refused = taken.length - admitted;
    }
    const most = since(asked);
    assert.ok(passed >= least - 1 && passed <= most, `${passed} of ${least} to ${most}`);
  },
  async "webhook, partitions and another rate are apart"(take) {
    const rate = { ...SLOW, burst: 1 };
    for (const partition of [null, "a", "b"]) {
      assert.ok((await take(rate, partition)).bucket, `${partition}`);
      assert.ok((await take(rate, partition)).retryAfter, `${partition}`);
    }
    assert.ok((await take({ ...rate, calls: 2 })).bucket);
  },
  async "the largest and the smallest rates are kept"(take) {
    const fast = { ...SLOW, calls: 1_000_000, per_sec: 1, burst: 1_000_000 };
    const slow = { ...SLOW, calls: 1, per_sec: 86_400, burst: 1_000_000 };
    for (const rate of [fast, slow])
      for (let n = 0; n < 3; n += 1) assert.ok((await take(rate)).bucket);
    const { bucket } = await take(slow);
    assert.match(
      describeRate(bucket as Bucket)["ratelimit"] ?? "",
      /r=999996;t=863\d\d|r=999996;t=86400/,
    );
  },
};

for (const kind of KINDS)
  describe(`rates, ${kind}`, () => {
    const stack = new AsyncDisposableStack();
    let rates: RateLimits[] = [];
    before(async () => {
      rates = await openRates(stack, kind);
    });
    after(() => stack.disposeAsync());
    for (const [title, run] of Object.entries(CASES))
      test(title, () => run(openCalls(rates, title)));
  });

const BUCKET = { isPartition: true, calls: 1, per_sec: 3600, burst: 2 };

test("many partitions do not fill the store, and push out nobody who called more", async () => {
  await using stack = new AsyncDisposableStack();
  const { both, client } = await openBoth(stack, "partitions.db");
  const take = (key: string, n: number, isPartition = true) =>
    (both[n % 2] as SharedStore).takeToken({ ...BUCKET, key, isPartition });
  for (let n = 0; n < 2; n += 1) assert.ok((await take("own", n, false)).isTaken);
  for (let n = 0; n < 2; n += 1) assert.ok((await take("busy", n)).isTaken);
  const many = Array.from({ length: 24_000 }, (_, n) => take(`address ${n}`, n));
  assert.ok((await Promise.all(many)).every(({ isTaken }) => isTaken));
  const { rows } = await client.query("select count(*)::integer as count from rate_bucket");
  assert.ok(rows[0].count > 9_000 && rows[0].count <= 12_500, `${rows[0].count} buckets`);
  assert.ok(!(await take("own", 0, false)).isTaken);
  assert.ok(!(await take("busy", 0)).isTaken);
});

test("a bucket that is full is forgotten", async () => {
  await using stack = new AsyncDisposableStack();
  const { both, client } = await openBoth(stack, "full.db");
  const full = { ...BUCKET, calls: 1000, per_sec: 1, burst: 1 };
  const take = (name: string) =>
    Promise.all(
      Array.from({ length: 1000 }, (_, n) => both[0].takeToken({ ...full, key: `${name} ${n}` })),
    );
  await take("first");
  await wait(10);
  // Those of before are looked at after so many; nobody waits for it.
  await take("second");
  await poll("full buckets to be forgotten", async () => {
    const { rows } = await client.query("select count(*)::integer as count from rate_bucket");
    return rows[0].count <= 1000 ? true : null;
  });
});

test("a clock of the database that is set back empties a bucket, and no more", async () => {
  await using stack = new AsyncDisposableStack();
  const { both, client } = await openBoth(stack, "clock.db");
  const bucket = { ...BUCKET, key: "k", calls: 10, per_sec: 1 };
  assert.ok((await both[0].takeToken(bucket)).isTaken);
  await client.query("update rate_bucket set full_at = full_at + 86400");
  const { isTaken, tokens } = await both[1].takeToken(bucket);
  assert.ok(!isTaken && tokens >= 0 && tokens < 1, `${isTaken} ${tokens}`);
  await wait(150);
  assert.ok((await both[1].takeToken(bucket)).isTaken);
});

const refused = (at: number, webhook_id = "w") => ({ webhook_id, at, call: `{"n":${at}}` });
const call = ({ at }: { at: number }) => `{"n":${at}}`;

test("what one refused is listed by both, the newest first, and after its end", async () => {
  await using stack = new AsyncDisposableStack();
  const { both, client } = await openBoth(stack, "refused.db");
  for (let at = 1; at <= 3; at += 1) both[at % 2]?.addRefused(refused(at));
  both[0].addRefused(refused(9, "v"));
  for (const store of both) {
    await poll("all three", async () => (await store.listRefused("w", 9)).length === 3 || null);
    assert.deepEqual(await store.listRefused("w", 2), [refused(3), refused(2)].map(call));
    assert.deepEqual(await store.listRefused("v", 9), [call(refused(9))]);
    assert.deepEqual(await store.listRefused("nobody", 9), []);
  }
  await using ending = new AsyncDisposableStack();
  const { shared: last } = await openShared(ending, await urlOf("refused.db"));
  for (let at = 20; at < 23; at += 1) last.addRefused(refused(at, "last"));
  await ending.disposeAsync();
  assert.equal((await both[0].listRefused("last", 9)).length, 3);
  const { rows } = await client.query("select count(*)::integer as count from refused_call");
  assert.equal(rows[0].count, 7);
});

test("refused calls become old as executions do", async () => {
  await using stack = new AsyncDisposableStack();
  const { store, shared } = await openShared(stack, await urlOf("old.db"));
  for (const at of [5, 6, 7]) shared.addRefused(refused(at));
  assert.equal((await shared.listRefused("w", 9)).length, 3);
  await store.commit([deleteOldRefusals(store, 6)]);
  assert.deepEqual(await shared.listRefused("w", 9), [refused(7), refused(6)].map(call));
});

test("of very many refused calls the newest stay", async () => {
  await using stack = new AsyncDisposableStack();
  const { both, client } = await openBoth(stack, "flood.db");
  const count = async (): Promise<number> =>
    (await client.query("select count(*)::integer as count from refused_call")).rows[0].count;
  let at = 0;
  for (let round = 0; round < 20; round += 1) {
    for (let n = 0; n < 500; n += 1) both[round % 2]?.addRefused(refused((at += 1)));
    await both[round % 2]?.listRefused("w", 1);
  }
  assert.ok((await count()) <= 125, `${await count()} of one webhook`);
  const listed = await both[1].listRefused("w", 100);
  assert.deepEqual([listed.length, listed[0]], [100, call({ at: 10_000 })]);
  for (let webhook = 0; webhook < 12_000; webhook += 1) {
    both[0].addRefused(refused(webhook, `webhook ${webhook}`));
    if (webhook % 400 === 399) await both[0].listRefused("w", 1);
  }
  assert.ok((await count()) <= 10_400, `${await count()} of all`);
});
