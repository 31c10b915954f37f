import assert from "node:assert/strict";
import { follow, send } from "../client.ts";
import {
  callTarget,
  countExecutions,
  executionId,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD } from "../service.ts";
import { call, nextUrl, waitId } from "./leg.ts";

const KEY = "blackbox-canary-key-of-the-legs";
const BEARER = { authorization: `Bearer ${KEY}` };

const REENTRY: StoryRow[] = [
  {
    name: "a waiting leg gets the result when the flow ends, not at the end of the window",
    covers: ["4.4 final", "4.4 rule 1"],
    async run(service) {
      const started = performance.now();
      const target = callTarget(service, "sleep", "?ms=150");
      const answer = await follow(service.origin, { method: "POST", target });
      assert.equal(answer.text, '{"slept":150}');
      // The window is 20 s, and the flow may start slowly.
      assert.ok(performance.now() - started < 19_000);
    },
  },

  ...["GET", "POST", "PUT", "PATCH", "DELETE"].map((method): StoryRow => ({
    name: `${method} re-enters, whatever its body`,
    covers: ["C8 any method", "C8 not looked at", "C8 repeatable", "C8 starts nothing"],
    async run(service) {
      const first = await call(service, "echo");
      const before = await countExecutions(service, "echo");
      for (const body of ["not json", "x".repeat(10_000)]) {
        const answer = await call(service, "echo", `?__wait_execution_id=${executionId(first)}`, {
          method,
          headers: { "content-type": "text/plain" },
          body,
        });
        assert.equal(answer.status, 200, answer.text);
        assert.equal(executionId(answer), executionId(first));
      }
      assert.equal(await countExecutions(service, "echo"), before, "a re-entry starts nothing");
    },
  })),
  {
    name: "HEAD re-enters without a body",
    covers: ["C8 any method", "C10 HEAD"],
    async run(service) {
      const answer = await follow(service.origin, {
        method: "HEAD",
        target: callTarget(service, "echo"),
      });
      assert.deepEqual(
        answer.legs.map((leg) => [leg.status, leg.text]),
        [
          [303, ""],
          [200, ""],
        ],
      );
      assert.equal(answer.headers["content-type"], "application/json; charset=utf-8");
    },
  },
  {
    name: "a caller without an account fetches the result of an asynchronous call",
    covers: ["C8 async id", "4.4 async poll"],
    async run(service) {
      const started = await call(service, "echo", "/later?async&n=1", { method: "POST" });
      assert.equal(started.status, 201);
      const path = `?__wait_execution_id=${started.text}`;
      const answer = await call(service, "echo", path);
      assert.equal(answer.status, 200, answer.text);
      assert.equal((JSON.parse(answer.text) as { path: string }).path, "later");
      const again = await call(service, "echo", `${path}&async`);
      assert.equal(again.status, 200, "async on a re-entry starts nothing");
    },
  },
  {
    name: "an unknown id, an id of another webhook, or no id at all",
    covers: ["C8 other webhook", "4.1 reserved"],
    async run(service) {
      const other = await call(service, "sleep", "?async&ms=0");
      const before = await countExecutions(service, "echo");
      const ids = [
        other.text,
        "01890000-0000-7000-8000-000000000000",
        "",
        "x",
        "..%2f..",
        "%00",
        `${other.text}.`,
        "__proto__",
      ];
      for (const id of ids) {
        const answer = await call(service, "echo", `?__wait_execution_id=${id}`);
        assert.equal(answer.status, 404, `"${id}": ${answer.text}`);
        assert.equal(answer.headers["flowhook-execution-id"], undefined);
      }
      assert.equal(await countExecutions(service, "echo"), before);
    },
  },
  {
    name: "a disabled webhook admits no re-entry",
    covers: ["7 disabled"],
    async run(service) {
      await service.createWebhook("closing", "echo");
      const first = await call(service, "closing");
      await service.api("PUT", "/webhook/closing/authentication", {
        password: ADMIN_PASSWORD,
        is_enabled: false,
      });
      const answer = await call(service, "closing", `?__wait_execution_id=${executionId(first)}`);
      assert.equal(answer.status, 404);
    },
  },
];

const SIGNED: StoryRow[] = [
  {
    name: "where a key admitted, the redirect carries a signature and no key",
    covers: ["C8 signature", "C8 query", "C8 admitted"],
    async run(service) {
      const path = `/p?a=1&key=${KEY}&b=2`;
      const answer = await call(service, "keyed", path, { headers: BEARER });
      assert.equal(answer.status, 303);
      assert.ok(!answer.head.includes(KEY), answer.head);
      const next = nextUrl(service, answer);
      assert.equal(next.searchParams.get("key"), null);
      assert.equal(next.searchParams.get("a"), "1");
      assert.equal(next.searchParams.get("b"), "2");
      const value = waitId(service, answer);
      assert.match(value, new RegExp(`^${executionId(answer)}\\.[\\w-]{20,}$`));
      const last = await send(service.origin, { target: next.pathname + next.search });
      assert.equal(last.status, 200, "admitted by the signature alone");
      assert.deepEqual((JSON.parse(last.text) as { query: object }).query, { a: "1", b: "2" });
    },
  },
  {
    name: "a key in the body is admitted through the whole chain",
    covers: ["C8 signature", "5.2 body"],
    async run(service) {
      const answer = await follow(service.origin, {
        method: "POST",
        target: callTarget(service, "keyed"),
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ key: KEY, order: 7 }),
      });
      assert.equal(answer.status, 200);
      assert.deepEqual((JSON.parse(answer.text) as { json: object }).json, { order: 7 });
      assert.ok(!answer.legs.some((leg) => leg.head.includes(KEY) || leg.text.includes(KEY)));
    },
  },
  {
    name: "a re-entry without a right signature needs the key",
    covers: ["C8 admitted"],
    async run(service) {
      const first = await call(service, "keyed", "", { headers: BEARER });
      const second = await call(service, "keyed", "", { headers: BEARER });
      const id = executionId(first);
      const foreign = waitId(service, second).split(".")[1];
      const signature = waitId(service, first).split(".")[1] ?? "";
      const turned = signature.startsWith("A")
        ? `B${signature.slice(1)}`
        : `A${signature.slice(1)}`;
      for (const value of [id, `${id}.`, `${id}.x`, `${id}.${foreign}`, `${id}.${turned}`]) {
        const answer = await call(service, "keyed", `?__wait_execution_id=${value}`);
        assert.equal(answer.status, 401, `"${value}" is no way in`);
        assert.equal(answer.text, '"401 Unauthorized"');
        const path = `?__wait_execution_id=${value}`;
        const admitted = await call(service, "keyed", path, { headers: BEARER });
        assert.equal(admitted.status, 200, `the key admits with "${value}"`);
      }
    },
  },
  {
    name: "the id of an asynchronous call is accepted with the key",
    covers: ["C8 async id", "C8 admitted"],
    async run(service) {
      const started = await call(service, "keyed", "?async", { method: "POST", headers: BEARER });
      const path = `?__wait_execution_id=${started.text}`;
      assert.equal((await call(service, "keyed", path)).status, 401);
      assert.equal((await call(service, "keyed", path, { headers: BEARER })).status, 200);
    },
  },
  {
    name: "the signature of one webhook does not open another",
    covers: ["C8 other webhook"],
    async run(service) {
      const first = await call(service, "keyed", "", { headers: BEARER });
      const path = `?__wait_execution_id=${waitId(service, first)}`;
      assert.equal((await call(service, "echo", path)).status, 404);
    },
  },
  {
    name: "the signature is void when the key is replaced",
    covers: ["C8 void"],
    async run(service) {
      await service.createWebhook("replaced", "echo", { key: "the-key-before-its-change" });
      const headers = { authorization: "Bearer the-key-before-its-change" };
      const first = await call(service, "replaced", "", { headers });
      const path = `?__wait_execution_id=${waitId(service, first)}`;
      assert.equal((await call(service, "replaced", path)).status, 200);
      await service.api("PUT", "/webhook/replaced/authentication", {
        password: ADMIN_PASSWORD,
        key: "the-key-after-its-change",
      });
      assert.equal((await call(service, "replaced", path)).status, 401);
    },
  },
];

export const RE_ENTRIES: Group = {
  name: "re-entries",
  config: { MAX_BODY_BYTES: 8192 },
  flows: ["echo", "sleep"],
  webhooks: {
    echo: { flow: "echo" },
    sleep: { flow: "sleep" },
    keyed: { flow: "echo", key: KEY },
  },
  rows: [...REENTRY, ...SIGNED],
};
