import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { HUNG_MS } from "../hung.ts";
import {
  ADMIN_PASSWORD,
  memberOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";

let service: TestService;

before(async () => {
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

async function makeWebhook(name: string): Promise<string> {
  const { json } = await service.want(201, "POST", "/webhook", { body: { name, flow: "echo" } });
  return memberOf(json, "key");
}

function authenticate(name: string, body: object, token?: string) {
  const path = `/webhook/${name}/authentication`;
  return service.ask("PUT", path, { body, ...(token === undefined ? {} : { token }) });
}

async function call(name: string, key: string): Promise<number> {
  const url = `${service.url}/api/latest/webhook/${name}/call?async`;
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(url, { method: "POST", headers })).status;
}

test("a new webhook is disabled and productive, and its key is shown this once", async () => {
  const { json } = await service.want(201, "POST", "/webhook", {
    body: { name: "fresh", flow: "echo" },
  });
  assert.equal(memberOf(json, "is_enabled"), "false");
  assert.equal(memberOf(json, "is_productive"), "true");
  assert.equal(memberOf(json, "require_login"), "false");
  assert.equal(memberOf(json, "role"), "webhook");
  const key = memberOf(json, "key");
  assert.match(key, /^fhk_[\w-]{43}$/);
  for (const path of ["/webhook/fresh", "/webhook", "/export"]) {
    const { text } = await service.want(200, "GET", path);
    assert.ok(!text.includes(key) && !text.includes('"key"'), path);
  }
  assert.equal(await call("fresh", key), 404);
});

test("the password of whoever asks is asked for again", async () => {
  await makeWebhook("guarded");
  for (const password of [undefined, "", "wrong", PASSWORD]) {
    const reply = await authenticate("guarded", { password, is_enabled: true });
    assert.equal(reply.status, 403);
    assert.equal(reply.code, "wrong_password");
  }
  const done = await authenticate("guarded", { password: ADMIN_PASSWORD, is_enabled: true });
  assert.equal(done.status, 200);
  assert.equal(memberOf(done.json, "is_enabled"), "true");
  assert.ok(!done.text.includes('"key"'), "a key that was not set is not shown");
});

test("wrong passwords are slowed, then refused with 429, for this user alone", async () => {
  await makeWebhook("locked");
  const token = await service.user("guesser", ["admin"]);
  const times: number[] = [];
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt += 1) {
    const started = performance.now();
    const reply = await authenticate("locked", { password: `guess ${attempt}` }, token);
    times.push(performance.now() - started);
    statuses.push(reply.status);
    if (reply.status === 429) {
      assert.equal(reply.code, "too_many_attempts");
      assert.ok(Number(reply.headers.get("retry-after")) > 0);
    }
  }
  assert.deepEqual(statuses, [...Array<number>(10).fill(403), 429]);
  // The quickest of those that are not slowed: a machine may pause in any one of them.
  const free = Math.min(...times.slice(0, 3));
  assert.ok(times[8]! > 1000 && times[8]! > 2 * free, `slowed: ${times.map(Math.round).join()}`);
  const right = await authenticate("locked", { password: PASSWORD }, token);
  assert.equal(right.status, 429, "the right password too");
  const other = await authenticate("locked", { password: ADMIN_PASSWORD });
  assert.equal(other.status, 200);
  assert.ok((await service.login("guesser", PASSWORD)).length > 0, "logins are another matter");
});

test("a key has at least 16 visible characters; null takes it away; one can be generated", async () => {
  await makeWebhook("keyed");
  const set = (key: unknown) =>
    authenticate("keyed", { password: ADMIN_PASSWORD, is_enabled: true, key });
  for (const bad of ["", "short", "123456789012345", "with blanks in the key", 17, true, {}, []]) {
    const reply = await set(bad);
    assert.equal(reply.status, 422, JSON.stringify(bad));
    assert.ok(reply.text.includes("key"));
  }
  const own = "sixteen-visible-";
  const chosen = await set(own);
  assert.equal(memberOf(chosen.json, "key"), own);
  assert.equal(memberOf(chosen.json, "is_key_required"), "true");
  assert.equal(await call("keyed", own), 201);
  const made = await set({ generate: true });
  assert.match(memberOf(made.json, "key"), /^fhk_/);
  assert.equal(await call("keyed", own), 401, "the replaced key is void at once");
  assert.equal(await call("keyed", memberOf(made.json, "key")), 201);
  const without = await set(null);
  assert.equal(memberOf(without.json, "is_key_required"), "false");
  assert.ok(!without.text.includes('"key"'));
  assert.equal(await call("keyed", "anything at all"), 201);
});

test("keep_previous_sec keeps the replaced key, and no longer", async () => {
  const first = await makeWebhook("rotated");
  const password = ADMIN_PASSWORD;
  const rotate = (more: object) =>
    authenticate("rotated", { password, is_enabled: true, key: { generate: true }, ...more });
  for (const bad of [-1, 1.5, 86_401, "10"])
    assert.equal((await rotate({ keep_previous_sec: bad })).status, 422, String(bad));
  const second = memberOf((await rotate({ keep_previous_sec: 3600 })).json, "key");
  assert.deepEqual([await call("rotated", first), await call("rotated", second)], [201, 201]);
  const begun = performance.now();
  const third = memberOf((await rotate({ keep_previous_sec: 1 })).json, "key");
  const statuses = [await call("rotated", first), await call("rotated", second)];
  // Where the machine paused meanwhile, the second is over as well.
  const isOver = performance.now() - begun > 1000 && statuses[1] === 401;
  assert.deepEqual(statuses, [401, isOver ? 401 : 201]);
  const until = performance.now() + HUNG_MS;
  while ((await call("rotated", second)) === 201) assert.ok(performance.now() < until);
  assert.equal(await call("rotated", third), 201);
});

test("when each key was last used is recorded, for as long as it is a key", async () => {
  const first = await makeWebhook("used");
  const password = ADMIN_PASSWORD;
  await authenticate("used", { password, is_enabled: true });
  const timesOf = async () => {
    const { json } = await service.want(200, "GET", "/webhook/used");
    return ["key_used_at", "previous_key_used_at"].map((name) => memberOf(json, name));
  };
  // A call does not wait until it is written.
  const written = () =>
    poll("the use to be written", async () => {
      const [used = "null"] = await timesOf();
      return used === "null" ? null : used;
    });
  assert.deepEqual(await timesOf(), ["null", "null"]);
  assert.equal(await call("used", "a wrong key of some length"), 401);
  assert.equal(await call("used", first), 201);
  const used = await written();
  assert.ok(Date.parse(used) <= Date.now());
  const rotate = { password, key: { generate: true }, keep_previous_sec: 3600 };
  const second = memberOf((await authenticate("used", rotate)).json, "key");
  assert.deepEqual(await timesOf(), ["null", used]);
  assert.equal(await call("used", second), 201);
  await written();
  await authenticate("used", { password, key: null });
  assert.deepEqual(await timesOf(), ["null", "null"]);
});

test("a use of the key that is written while the webhook is changed stays", async () => {
  const password = ADMIN_PASSWORD;
  for (const name of ["beside-1", "beside-2", "beside-3"]) {
    const key = await makeWebhook(name);
    await authenticate(name, { password, is_enabled: true });
    const change = authenticate(name, { password, is_enabled: true });
    assert.equal(await call(name, key), 201);
    assert.equal((await change).status, 200);
    await poll("the use to be written", async () => {
      const { json } = await service.want(200, "GET", `/webhook/${name}`);
      return memberOf(json, "key_used_at") === "null" ? null : true;
    });
  }
});

test("PATCH of what is guarded is refused, and names the endpoint", async () => {
  const key = await makeWebhook("patched");
  for (const body of [{ is_enabled: true }, { require_login: true }, { key: null }, { key }]) {
    const reply = await service.ask("PATCH", "/webhook/patched", { body });
    assert.equal(reply.status, 403);
    assert.match(
      memberOf(reply.json, "detail"),
      /PUT \/api\/latest\/webhook\/patched\/authentication/,
    );
    assert.ok(!reply.text.includes(key));
  }
  const { json } = await service.want(200, "GET", "/webhook/patched");
  assert.equal(memberOf(json, "is_enabled"), "false");
});

test("POST cannot set what is guarded either", async () => {
  for (const more of [{ is_enabled: true }, { key: "a key of sixteen or more" }]) {
    const body = { name: "posted", flow: "echo", ...more };
    const reply = await service.ask("POST", "/webhook", { body });
    assert.equal(reply.status, 422);
  }
});
