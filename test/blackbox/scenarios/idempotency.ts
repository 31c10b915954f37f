import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import type { Answer } from "../client.ts";
import { openGates } from "../gates.ts";
import {
  countExecutions,
  endedExecution,
  executionId,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../service.ts";
import { call, nextUrl } from "./leg.ts";

const SECRET = "blackbox-canary-secret-of-idempotency";
const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const JSON_TYPE = { "content-type": "application/json" };

let count = 0;
const fresh = (): string => `key-${(count += 1)}`;

function post(service: Service, webhook: string, key: string | null, body = "{}", path = "?async") {
  const headers = key === null ? JSON_TYPE : { ...JSON_TYPE, "idempotency-key": key };
  return call(service, webhook, path, { method: "POST", body, headers });
}

function assertReplayed(first: Answer, second: Answer): void {
  assert.equal(executionId(second), executionId(first), second.text);
  assert.equal(second.headers["idempotent-replayed"], "true");
}

function assertProblem(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text);
  assert.match(answer.text, new RegExp(`urn:flowhook:error:${code}`));
}

const ROWS: StoryRow[] = [
  {
    name: "a header is one that was sent, also where every object has its name",
    covers: ["D2 duplicate"],
    async run(service) {
      const send = (headers: Record<string, string>) =>
        call(service, "inherited", "?async", {
          method: "POST",
          body: "{}",
          headers: { ...JSON_TYPE, ...headers },
        });
      const without = [await send({}), await send({})];
      assert.deepEqual(
        without.map(({ status }) => status),
        [201, 201],
        without.map(({ text }) => text).join(),
      );
      assert.equal(new Set(without.map(executionId)).size, 2);
      const key = { constructor: fresh() };
      assertReplayed(await send(key), await send(key));
    },
  },
  {
    name: "50 parallel calls with one key are one execution, in each mode",
    covers: ["D2 duplicate"],
    async run(service) {
      const key = fresh();
      const before = await countExecutions(service, "plain");
      const paths = ["", "?async", "?async=0"];
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => post(service, "plain", key, "{}", paths[n % 3])),
      );
      assert.equal(new Set(answers.map(executionId)).size, 1);
      assert.equal(
        answers.filter(({ headers }) => headers["idempotent-replayed"] === undefined).length,
        1,
      );
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201, 303]));
      assert.equal(await countExecutions(service, "plain"), before + 1);
    },
  },
  {
    name: "a duplicate waits for the execution that runs, and gets its result after it",
    covers: ["D2 duplicate"],
    async run(service) {
      await using gates = await openGates();
      const key = fresh();
      const path = `?${gates.query(key)}`;
      const first = await post(service, "gate", key, "{}", path);
      assert.equal(first.status, 303);
      await gates.arrived(key);
      const second = await post(service, "gate", key, "{}", path);
      assertReplayed(first, second);
      const leg = call(service, "gate", nextUrl(service, second).search);
      gates.open(key);
      assert.equal((await leg).text, JSON.stringify({ gate: key }));
      const later = await post(service, "gate", key, "{}", path);
      assertReplayed(first, later);
      assert.equal((await call(service, "gate", nextUrl(service, later).search)).status, 200);
    },
  },
  {
    name: "what a duplicate was told to have started runs on, whoever leaves",
    covers: ["D2 duplicate", "C9 async"],
    async run(service) {
      await using gates = await openGates();
      const key = fresh();
      const path = `?${gates.query(key)}`;
      const leaving = new AbortController();
      const headers = { ...JSON_TYPE, "idempotency-key": key };
      const held = { method: "POST", body: "{}", headers, signal: leaving.signal };
      const first = call(service, "gate-held", path, held).catch(() => null);
      await gates.arrived(key);
      const second = await post(service, "gate-held", key, "{}", `${path}&async`);
      assert.equal(second.status, 201, second.text);
      assert.equal(second.headers["idempotent-replayed"], "true");
      leaving.abort();
      assert.equal(await first, null);
      // By then the service has taken notice of it.
      for (let turn = 0; turn < 6; turn += 1)
        assertReplayed(second, await post(service, "gate-held", key, "{}", `${path}&async`));
      gates.open(key);
      const record = await endedExecution(service, executionId(second));
      assert.equal(record["status"], "ENDED_SUCCESS");
    },
  },
  {
    name: "no key is an ordinary call; where it is required it is refused, and so is one that is none",
    covers: ["D2 key"],
    async run(service) {
      const plain = [await post(service, "plain", null), await post(service, "plain", null)];
      assert.notEqual(executionId(plain[0]!), executionId(plain[1]!));
      assertProblem(await post(service, "required", null), 400, "bad_idempotency_key");
      for (const wrong of ["", '""', "two words", "x".repeat(256)])
        assertProblem(await post(service, "plain", wrong), 400, "bad_idempotency_key");
      const key = fresh();
      assertReplayed(await post(service, "plain", key), await post(service, "plain", `"${key}"`));
    },
  },
  {
    name: "the key of another call is refused; the parameter async is no part of it",
    covers: ["D2 compare"],
    async run(service) {
      const key = fresh();
      const first = await post(service, "plain", key, '{"a":1}', "?async&x=1");
      assertReplayed(first, await post(service, "plain", key, '{"a":1}', "?x=1&async=1"));
      for (const [body, path] of [
        ['{"a":2}', "?async&x=1"],
        ['{"a":1}', "?async&x=2"],
        ['{"a":1}', "/sub?async&x=1"],
        ['{"a":1}', "/?async&x=1"],
      ] as const)
        assertProblem(await post(service, "plain", key, body, path), 422, "idempotency_mismatch");
      const headers = { ...JSON_TYPE, "idempotency-key": key };
      const put = { method: "PUT", body: '{"a":1}', headers };
      assertProblem(await call(service, "plain", "?async&x=1", put), 422, "idempotency_mismatch");
      assertReplayed(
        await post(service, "lenient", key, "1"),
        await post(service, "lenient", key, "2"),
      );
      const large = JSON.stringify({ pad: "x".repeat(100_000) });
      const other = fresh();
      assertReplayed(
        await post(service, "plain", other, large),
        await post(service, "plain", other, large),
      );
      assertProblem(await post(service, "plain", other, `${large} `), 422, "idempotency_mismatch");
    },
  },
  {
    name: "an API key in the body is no part of the call: it may be set and replaced meanwhile",
    covers: ["D2 compare"],
    async run(service) {
      const rekey = async (key: string | null): Promise<void> => {
        const body = { password: ADMIN_PASSWORD, key };
        const { status } = await service.api("PUT", "/webhook/rekeyed/authentication", body);
        assert.equal(status, 200);
      };
      const keys = ["first", "second"].map((name) => `blackbox-canary-${name}-key-of-rekeyed`);
      const send = (key: string, at: number) =>
        post(service, "rekeyed", key, JSON.stringify({ key: keys[at], a: 1 }));
      const [before, one] = [fresh(), fresh()];
      await rekey(null);
      const open = await send(before, 0);
      await rekey(keys[0] ?? "");
      assertReplayed(open, await send(before, 0));
      const first = await send(one, 0);
      await rekey(keys[1] ?? "");
      assertReplayed(first, await send(one, 1));
      const other = JSON.stringify({ key: keys[1], a: 2 });
      assertProblem(await post(service, "rekeyed", one, other), 422, "idempotency_mismatch");
    },
  },
  {
    name: "after a failure the next one runs again and takes the key over; or gets the same",
    covers: ["D2 after_failure"],
    async run(service) {
      const body = JSON.stringify({ steps: [{ fail: "broken" }] });
      for (const [webhook, isSame] of [
        ["failing", false],
        ["failing-same", true],
      ] as const) {
        const key = fresh();
        const first = await post(service, webhook, key, body);
        await endedExecution(service, executionId(first));
        const other = await post(service, webhook, key, `${body} `);
        assertProblem(other, 422, "idempotency_mismatch");
        const again = await Promise.all(
          Array.from({ length: 10 }, () => post(service, webhook, key, body)),
        );
        const ids = new Set(again.map(executionId));
        if (isSame) assert.deepEqual([...ids], [executionId(first)]);
        else assert.ok(!ids.has(executionId(first)));
        const failed = await post(service, "failing-same", key, body, "");
        if (isSame) assertReplayed(first, failed);
      }
    },
  },
  {
    name: "numbers that are not read exactly are keys as they are written",
    covers: ["D2 from"],
    async run(service) {
      for (const [one, other] of [
        ["18446744073709551001", "18446744073709551002"],
        ["1e400", "2e400"],
        ["2251799813685248.51", "2251799813685248.49"],
        ["9007199254740991", "9007199254740991.4"],
      ] as const) {
        const body = (id: string) => `{"a/b":[{"id":${id}}]}`;
        const first = body(one);
        const answer = await post(service, "pointer", null, first);
        assertReplayed(answer, await post(service, "pointer", null, first));
        const next = await post(service, "pointer", null, body(other));
        assert.equal(next.status, 201, next.text);
        assert.notEqual(executionId(next), executionId(answer));
      }
      const headers = { "content-type": "application/yaml" };
      const yaml = { method: "POST", body: "a/b: [{id: 18446744073709551001}]", headers };
      const refused = await call(service, "pointer", "?async", yaml);
      assertProblem(refused, 400, "bad_idempotency_key");
      assert.match(refused.text, /is a number that is not read exactly/);
    },
  },
  {
    name: "a member of the body, a parameter, and the id of a signed delivery",
    covers: ["D2 from"],
    async run(service) {
      const id = fresh();
      const body = (value: unknown) => JSON.stringify({ "a/b": [{ id: value }] });
      assertReplayed(
        await post(service, "pointer", null, body(id)),
        await post(service, "pointer", null, body(id)),
      );
      // It is parsed in another thread.
      const large = JSON.stringify({ more: "x".repeat(200_000), "a/b": [{ id: `${id}-large` }] });
      assertReplayed(
        await post(service, "pointer", null, large),
        await post(service, "pointer", null, large),
      );
      const exact = [
        await post(service, "pointer", null, body(1)),
        await post(service, "pointer", null, body(2)),
      ];
      assert.notEqual(executionId(exact[0]!), executionId(exact[1]!));
      for (const wrong of [true, {}, null])
        assertProblem(
          await post(service, "pointer", null, body(wrong)),
          400,
          "bad_idempotency_key",
        );
      assert.equal((await post(service, "pointer", null, "[]")).status, 201);
      const path = `?async&delivery=${id}`;
      assertReplayed(
        await post(service, "query", null, "{}", path),
        await post(service, "query", null, "{}", path),
      );
      const delivery = (text: string) =>
        call(service, "signed", "?async", {
          method: "POST",
          body: text,
          headers: {
            ...JSON_TYPE,
            "x-github-delivery": id,
            "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(text).digest("hex")}`,
          },
        });
      assertReplayed(await delivery("{}"), await delivery('{"other":1}'));
    },
  },
  {
    name: "a key is of its webhook; what is refused later leaves it free",
    covers: ["D2 key"],
    async run(service) {
      const key = fresh();
      const first = await post(service, "plain", key);
      assert.notEqual(executionId(await post(service, "lenient", key)), executionId(first));
      const other = fresh();
      assert.equal((await post(service, "plain", other, "{")).status, 400);
      assert.equal((await post(service, "plain", other)).headers["idempotent-replayed"], undefined);
    },
  },
  {
    name: "the key of a scheme is that of the header that was verified",
    covers: ["D2 from"],
    async run(service) {
      const id = fresh();
      const svix = (at: Date) => ({
        ...JSON_TYPE,
        "svix-id": id,
        "svix-timestamp": String(Math.floor(at.getTime() / 1000)),
        "svix-signature": new Webhook(STANDARD).sign(id, at, "{}"),
      });
      const send = (headers: Record<string, string>) =>
        call(service, "family", "?async", { method: "POST", body: "{}", headers });
      const first = await send(svix(new Date()));
      // A retry of the same delivery: the time is another, and so is what is signed.
      const retry = svix(new Date(Date.now() - 10_000));
      assertReplayed(
        first,
        await send({ ...retry, "webhook-signature": " ", "webhook-id": fresh() }),
      );
    },
  },
  {
    name: "what relies on a signature needs one, whichever is changed",
    covers: ["D2 from"],
    async run(service) {
      const idempotency = { from: "scheme" };
      const refused = await service.api("PATCH", "/webhook/plain", { idempotency });
      assert.equal(refused.status, 422, refused.text);
      assert.match(refused.text, /idempotency\.from/);
      const body = { password: ADMIN_PASSWORD, signature: null };
      const removed = await service.api("PUT", "/webhook/signed/authentication", body);
      assert.equal(removed.status, 422);
      assert.match(removed.text, /idempotency\.from/);
      for (const wrong of [
        { from: "body" },
        { from: "header:a b" },
        { from: "json:a" },
        { from: "header:a", window_sec: 59 },
        { from: "header:a", more: 1 },
        {},
      ])
        assert.equal(
          (await service.api("PATCH", "/webhook/plain", { idempotency: wrong })).status,
          422,
        );
      const { body: shown } = await service.api("GET", "/webhook/plain");
      assert.deepEqual((shown as { idempotency: object }).idempotency, {
        from: "header:idempotency-key",
        window_sec: 86_400,
        required: false,
        compare: true,
        after_failure: "run_again",
      });
    },
  },
];

const HEADER = { from: "header:Idempotency-Key" };

export const IDEMPOTENT: Group = {
  name: "idempotency",
  flows: ["echo", "answer", "gate"],
  secrets: { sender: SECRET, standard: STANDARD },
  webhooks: {
    plain: { flow: "echo", idempotency: HEADER },
    gate: { flow: "gate", idempotency: HEADER },
    "gate-held": { flow: "gate", idempotency: HEADER, sync_mode: "hold" },
    rekeyed: { flow: "echo", idempotency: HEADER },
    required: { flow: "echo", idempotency: { ...HEADER, required: true } },
    lenient: { flow: "echo", idempotency: { ...HEADER, compare: false } },
    failing: { flow: "answer", idempotency: HEADER },
    "failing-same": { flow: "answer", idempotency: { ...HEADER, after_failure: "same" } },
    pointer: { flow: "echo", idempotency: { from: "json:/a~1b/0/id" } },
    query: { flow: "echo", idempotency: { from: "query:delivery" } },
    inherited: { flow: "echo", idempotency: { from: "header:constructor" } },
    signed: {
      flow: "echo",
      signature: { scheme: "github", secrets: ["sender"] },
      later: { idempotency: { from: "scheme" } },
    },
    family: {
      flow: "echo",
      signature: { scheme: "standard_webhooks", secrets: ["standard"] },
      later: { idempotency: { from: "scheme" } },
    },
  },
  rows: ROWS,
};
