import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Answer } from "../client.ts";
import { openGates } from "../gates.ts";
import {
  countExecutions,
  endedExecution,
  executionId,
  readExecution,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../service.ts";
import { call, nextUrl } from "./leg.ts";

const KEY = "blackbox-canary-key-of-limits";

const from = (address: string) => ({ headers: { "x-forwarded-for": address } });

function assertRefused(answer: Answer, code: "rate_limited" | "webhook_busy"): void {
  assert.equal(answer.status, 429, answer.text);
  assert.match(answer.text, new RegExp(`urn:flowhook:error:${code}`));
  assert.ok(Number(answer.headers["retry-after"]) >= 1, answer.head);
}

async function started(service: Service, webhook: string, query: string): Promise<string> {
  const answer = await call(service, webhook, `?async&${query}`);
  assert.equal(answer.status, 201, answer.text);
  return executionId(answer);
}

async function statusOf(service: Service, id: string): Promise<unknown> {
  return (await readExecution(service, id))["status"];
}

/** Twelve calls at once; the bucket is empty when one of them is refused. */
async function callFast(service: Service) {
  const begunAt = performance.now();
  const round = Array.from({ length: 12 }, () => call(service, "fast", "?async"));
  const admitted = (await Promise.all(round)).filter(({ status }) => status === 201).length;
  return { begunAt, admitted, answeredAt: performance.now(), isEmpty: admitted < round.length };
}

const RATE: StoryRow[] = [
  {
    name: "as many calls as the burst pass, the next is refused, and nothing is recorded of it",
    covers: ["D3.2 bucket", "D3.2 headers"],
    async run(service) {
      const began = performance.now();
      // Of the 1800 s of a token, as many have passed as since the first call, at most.
      const assertWait = (text: string | undefined, form: RegExp): void => {
        const seconds = Number(form.exec(text ?? "")?.[1]);
        const least = Math.floor(1800 - (performance.now() - began) / 1000);
        assert.ok(seconds >= least && seconds <= 1800, `${text}, of at least ${least} s`);
      };
      for (const left of [2, 1, 0]) {
        const { status, headers } = await call(service, "rate", "?async");
        assert.equal(status, 201);
        assert.equal(headers["ratelimit-policy"], '"calls";q=2;w=3600');
        assertWait(headers["ratelimit"], new RegExp(`^"calls";r=${left};t=(\\d+)$`));
      }
      const refused = await call(service, "rate", "?async");
      assertRefused(refused, "rate_limited");
      assertWait(refused.headers["retry-after"], /^(\d+)$/);
      assertWait(refused.headers["ratelimit"], /^"calls";r=0;t=(\d+)$/);
      assert.match(refused.text, /More than 2 calls in 3600 s/);
      assert.equal(await countExecutions(service, "rate"), 3);
    },
  },
  {
    name: "no redirect has the headers, and no leg takes a token",
    covers: ["D3.2 headers"],
    async run(service) {
      const first = await call(service, "redirected");
      assert.equal(first.status, 303);
      assert.equal(first.headers["ratelimit"], undefined);
      const leg = await call(service, "redirected", nextUrl(service, first).search);
      assert.equal(leg.status, 200);
      assert.equal(leg.headers["ratelimit"], undefined);
      const held = await call(service, "redirected", "", { headers: { prefer: "wait=60" } });
      assert.equal(held.status, 200);
      assert.match(held.headers["ratelimit"] ?? "", /^"calls";r=0;/);
      assertRefused(await call(service, "redirected"), "rate_limited");
    },
  },
  {
    name: "each address has its own, an IPv6 one with its /64",
    covers: ["D3.2 by"],
    async run(service) {
      const ask = (address: string) => call(service, "by-address", "?async", from(address));
      assert.equal((await ask("192.0.2.1")).status, 201);
      assertRefused(await ask("192.0.2.1"), "rate_limited");
      assertRefused(await ask("::ffff:192.0.2.1"), "rate_limited");
      assert.equal((await ask("192.0.2.2")).status, 201);
      assert.equal((await ask("2001:db8::1")).status, 201);
      assertRefused(await ask("2001:db8:0:0:9::7"), "rate_limited");
      assert.equal((await ask("2001:db8:0:1::1")).status, 201);
    },
  },
  {
    name: "each user has their own",
    covers: ["D3.2 by"],
    async run(service) {
      const user = {
        name: "rated",
        email: "rated@example.com",
        password: ADMIN_PASSWORD,
        own_password: ADMIN_PASSWORD,
      };
      const made = await service.api("POST", "/user", { ...user, roles: ["viewer"] });
      assert.equal(made.status, 201, made.text);
      const ask = (token: string) =>
        call(service, "by-user", "?async", { headers: { "x-service-token": token } });
      assert.equal((await ask(service.token())).status, 201);
      assertRefused(await ask(service.token()), "rate_limited");
      assert.equal((await ask(await service.login("rated"))).status, 201);
    },
  },
  {
    name: "who is refused before takes no token",
    covers: ["D3.2 order"],
    async run(service) {
      for (let at = 0; at < 3; at += 1)
        assert.equal((await call(service, "keyed", "?async&key=wrong-wrong-wrong")).status, 401);
      assert.equal((await call(service, "keyed", `?async&key=${KEY}`)).status, 201);
      assertRefused(await call(service, "keyed", `?async&key=${KEY}`), "rate_limited");
    },
  },
  {
    name: "a duplicate takes a token",
    covers: ["D3.2 order"],
    async run(service) {
      const ask = () =>
        call(service, "repeated", "?async", { headers: { "idempotency-key": "one" } });
      assert.equal((await ask()).status, 201);
      assert.equal((await ask()).headers["idempotent-replayed"], "true");
      assertRefused(await ask(), "rate_limited");
    },
  },
  {
    name: "tokens come back as fast as the rate says",
    covers: ["D3.2 bucket"],
    async run(service) {
      const tokens = (ms: number): number => (ms / 1000) * 5;
      const began = performance.now();
      let round = await callFast(service);
      let burst = round.admitted;
      while (!round.isEmpty) {
        round = await callFast(service);
        burst += round.admitted;
      }
      const come = tokens(round.answeredAt - began);
      assert.ok(burst >= 30 && burst <= 31 + come, `${burst} of 30 and ${come}`);
      // From here on none is lost while a busy machine pauses: the empty bucket has room for six
      // seconds. While it was full, those that came were.
      const emptied = round;
      let admitted = 0;
      while (performance.now() - emptied.answeredAt < 1500 || !round.isEmpty) {
        round = await callFast(service);
        admitted += round.admitted;
      }
      // Calls were judged at some time between their beginning and their answers.
      const least = tokens(round.begunAt - emptied.answeredAt) - 1.5;
      const most = tokens(round.answeredAt - emptied.begunAt) + 1;
      assert.ok(admitted >= least && admitted <= most, `${admitted} of ${least} to ${most}`);
    },
  },
  {
    name: "limits that contradict themselves or the webhook are refused by their names",
    covers: ["D3.2 member"],
    async run(service) {
      const rate = { calls: 1, per_sec: 1 };
      const wrong: [object, string][] = [
        [{ rate: { ...rate, by: "user" } }, "limits.rate.by"],
        [{ rate: { ...rate, calls: 0 } }, "limits.rate.calls"],
        [{ rate: { calls: 1 } }, "limits.rate.per_sec"],
        [{ rate: { ...rate, cals: 1 } }, "limits.rate.cals"],
        [{ max_concurrent: 4097 }, "limits.max_concurrent"],
        [{ when_busy: "refuse" }, "limits.when_busy"],
        [{ when_busy: "wait", max_concurrent: 1 }, "limits.when_busy"],
        [{ max_queued: -1 }, "limits.max_queued"],
        [{ max: 1 }, "limits.max"],
      ];
      for (const [limits, field] of wrong) {
        const answer = await service.api("PATCH", "/webhook/free", { limits });
        assert.equal(answer.status, 422, `${JSON.stringify(limits)}: ${answer.text}`);
        assert.ok(answer.text.includes(`"field":"${field}"`), answer.text);
      }
      const open = { password: ADMIN_PASSWORD, require_login: false };
      const removed = await service.api("PUT", "/webhook/by-user/authentication", open);
      assert.equal(removed.status, 422);
      assert.match(removed.text, /limits\.rate\.by/);
      const { body } = await service.api("GET", "/webhook/redirected");
      assert.deepEqual((body as { limits: object }).limits, {
        rate: { calls: 2, per_sec: 3600, burst: 2, by: "webhook" },
        max_concurrent: null,
        when_busy: "queue",
        max_queued: null,
      });
    },
  },
];

/** Counts the flows that are at it at the same time. The first waits there for the second. */
async function openMeeting() {
  let present = 0;
  const seen = { most: 0, served: 0 };
  const met = Promise.withResolvers<void>();
  const leave = (response: ServerResponse): void => {
    present -= 1;
    seen.served += 1;
    response.end("met");
  };
  const server = createServer((_, response) => {
    present += 1;
    seen.most = Math.max(seen.most, present);
    if (present > 1) met.resolve();
    void met.promise.then(() => setImmediate(leave, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    seen,
    query: `gate=${encodeURIComponent(`http://127.0.0.1:${port}/`)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const CONCURRENCY: StoryRow[] = [
  {
    name: "of 200 parallel calls never more than two run at once",
    covers: ["D3.3 max_concurrent"],
    async run(service) {
      await using meeting = await openMeeting();
      const ids = await Promise.all(
        Array.from({ length: 200 }, () => started(service, "two", meeting.query)),
      );
      // One after the other: 200 that ask at once would take the time that the runs need. They run in
      // the order in which they came, which identifiers tell: the next one to end is asked about.
      for (const id of ids.toSorted()) await endedExecution(service, id);
      assert.deepEqual(meeting.seen, { most: 2, served: 200 });
    },
  },
  {
    name: "the first comes first, and other webhooks of the flow pass by",
    covers: ["D3.3 queue"],
    async run(service) {
      await using gates = await openGates();
      const ids: string[] = [];
      for (const name of ["first", "second", "third"])
        ids.push(await started(service, "one", gates.query(name)));
      const other = await started(service, "free", gates.query("other"));
      await gates.arrived("first");
      await gates.arrived("other");
      assert.equal(await statusOf(service, ids[1] as string), "PENDING");
      gates.open("first");
      await gates.arrived("second");
      assert.equal(await statusOf(service, ids[2] as string), "PENDING");
      for (const name of ["second", "third", "other"]) gates.open(name);
      for (const id of [...ids, other])
        assert.equal((await endedExecution(service, id))["status"], "ENDED_SUCCESS");
    },
  },
  {
    name: "what is held back can be cancelled, and those behind it come to their turn",
    covers: ["D3.3 queue"],
    async run(service) {
      await using gates = await openGates();
      const ids: string[] = [];
      for (const name of ["c1", "c2", "c3"])
        ids.push(await started(service, "one", gates.query(name)));
      await gates.arrived("c1");
      const cancelled = await service.api("POST", `/execution/${ids[1]}/cancel`);
      assert.ok(cancelled.status < 300, cancelled.text);
      assert.equal((await endedExecution(service, ids[1] as string))["status"], "ENDED_CANCELLED");
      gates.open("c1");
      await gates.arrived("c3");
      gates.open("c3");
      await endedExecution(service, ids[2] as string);
    },
  },
  {
    name: "raised limits hold at once, for what waits as well",
    covers: ["D3.3 max_concurrent"],
    async run(service) {
      await using gates = await openGates();
      const names = ["r1", "r2", "r3"];
      const ids: string[] = [];
      for (const name of names) ids.push(await started(service, "raised", gates.query(name)));
      await gates.arrived("r1");
      assert.equal(await statusOf(service, ids[1] as string), "PENDING");
      const patch = (limits: object | null) => service.api("PATCH", "/webhook/raised", { limits });
      assert.equal((await patch({ max_concurrent: 2 })).status, 200);
      await gates.arrived("r2");
      assert.equal(await statusOf(service, ids[2] as string), "PENDING");
      assert.equal((await patch(null)).status, 200);
      await gates.arrived("r3");
      for (const name of names) gates.open(name);
      for (const id of ids) await endedExecution(service, id);
    },
  },
  {
    name: "who is busy refuses where it says so, until the execution has ended",
    covers: ["D3.3 refuse"],
    async run(service) {
      await using gates = await openGates();
      const id = await started(service, "refusing", gates.query("busy"));
      await gates.arrived("busy");
      const refused = await call(service, "refusing", `?${gates.query("never")}`);
      assertRefused(refused, "webhook_busy");
      assert.match(refused.text, /1 execution of this webhook has not ended, as many/);
      assert.equal(await countExecutions(service, "refusing"), 1);
      gates.open("busy");
      await endedExecution(service, id);
      gates.open("again");
      await endedExecution(service, await started(service, "refusing", gates.query("again")));
    },
  },
  {
    name: "no more wait than may wait",
    covers: ["D3.3 max_queued"],
    async run(service) {
      await using gates = await openGates();
      const ids = [await started(service, "short", gates.query("s1"))];
      await gates.arrived("s1");
      ids.push(await started(service, "short", gates.query("s2")));
      const refused = await call(service, "short", `?${gates.query("s3")}`);
      assertRefused(refused, "webhook_busy");
      assert.match(refused.text, /1 execution of this webhook waits already, as many/);
      gates.open("s1");
      await gates.arrived("s2");
      gates.open("s2");
      for (const id of ids) await endedExecution(service, id);
    },
  },
  {
    name: "the newest takes the place of those that wait; what runs goes on",
    covers: ["D3.3 replace"],
    async run(service) {
      await using gates = await openGates();
      const first = await started(service, "newest", gates.query("n1"));
      await gates.arrived("n1");
      const second = await call(service, "newest", `?${gates.query("n2")}`);
      const leg = call(service, "newest", nextUrl(service, second).search);
      const third = await started(service, "newest", gates.query("n3"));
      const { status, text } = await leg;
      assert.equal(status, 500);
      assert.equal(text, `ENDED_CANCELLED: Replaced by ${third}`);
      const record = await readExecution(service, executionId(second));
      assert.equal(record["status"], "ENDED_CANCELLED");
      assert.equal(record["status_message"], `Replaced by ${third}`);
      assert.equal(record["started_at"], null);
      assert.equal(await statusOf(service, first), "RUNNING");
      gates.open("n1");
      await gates.arrived("n3");
      gates.open("n3");
      for (const id of [first, third])
        assert.equal((await endedExecution(service, id))["status"], "ENDED_SUCCESS");
    },
  },
  {
    name: "who is told the id of the call that took their place does not get at its result",
    covers: ["D3.3 replace"],
    async run(service) {
      await using gates = await openGates();
      await started(service, "newest", gates.query("o1"));
      await gates.arrived("o1");
      const replaced = await call(service, "newest", `?${gates.query("o2")}`);
      const other = await call(service, "newest", `?${gates.query("o3")}`);
      const { text } = await call(service, "newest", nextUrl(service, replaced).search);
      const id = text.replace("ENDED_CANCELLED: Replaced by ", "");
      assert.equal(id, executionId(other));
      const guess = `?__wait_execution_id=${id}`;
      assert.equal((await call(service, "newest", guess)).status, 404);
      gates.open("o1");
      await gates.arrived("o3");
      gates.open("o3");
      assert.equal((await endedExecution(service, id))["status"], "ENDED_SUCCESS");
      assert.equal((await call(service, "newest", guess)).status, 404);
      assert.equal((await call(service, "newest", nextUrl(service, other).search)).status, 200);
    },
  },
  {
    name: "who waits when a webhook begins to replace still gets at its result",
    covers: ["D3.3 replace"],
    async run(service) {
      await using gates = await openGates();
      const first = await call(service, "changed", `?${gates.query("p1")}`);
      await gates.arrived("p1");
      await service.api("PATCH", "/webhook/changed", { limits: REPLACING });
      const running = call(service, "changed", nextUrl(service, first).search);
      gates.open("p1");
      assert.equal((await running).status, 200);
      assert.equal((await call(service, "changed", nextUrl(service, first).search)).status, 200);
    },
  },
];

const REPLACING = { max_concurrent: 1, when_busy: "replace" };
const SLOW = { calls: 1, per_sec: 3600 };

export const LIMITS: Group = {
  name: "limits",
  flows: ["echo", "gate"],
  config: { WORKER_THREADS: 8, FLOW_MAX_CONCURRENT: 7, TRUSTED_PROXIES: ["127.0.0.1"] },
  webhooks: {
    rate: { flow: "echo", limits: { rate: { calls: 2, per_sec: 3600, burst: 3 } } },
    redirected: { flow: "echo", limits: { rate: { calls: 2, per_sec: 3600 } } },
    "by-address": { flow: "echo", limits: { rate: { ...SLOW, by: "address" } } },
    "by-user": {
      flow: "echo",
      require_login: true,
      later: { limits: { rate: { ...SLOW, by: "user" } } },
    },
    keyed: { flow: "echo", key: KEY, limits: { rate: SLOW } },
    repeated: {
      flow: "echo",
      idempotency: { from: "header:idempotency-key" },
      limits: { rate: { calls: 2, per_sec: 3600 } },
    },
    fast: { flow: "echo", limits: { rate: { calls: 5, per_sec: 1, burst: 30 } } },
    free: { flow: "gate" },
    one: { flow: "gate", limits: { max_concurrent: 1 } },
    two: { flow: "gate", limits: { max_concurrent: 2 } },
    raised: { flow: "gate", limits: { max_concurrent: 1 } },
    refusing: { flow: "gate", limits: { max_concurrent: 1, when_busy: "refuse" } },
    short: { flow: "gate", limits: { max_concurrent: 1, max_queued: 1 } },
    newest: { flow: "gate", limits: REPLACING },
    changed: { flow: "gate" },
  },
  rows: [...RATE, ...CONCURRENCY],
};
