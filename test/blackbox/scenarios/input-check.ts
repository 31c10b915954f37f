import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { countExecutions, poll, type CallRow, type Group, type StoryRow } from "../scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../service.ts";
import { call } from "./leg.ts";

const KEY = "blackbox-canary-key-of-checks";

const JSON_TYPE = { "content-type": "application/json" };

function post(service: Service, webhook: string, body: unknown, path = "?async", headers = {}) {
  const more = { body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } };
  return call(service, webhook, path, { method: "POST", ...more });
}

async function writeFlow(service: Service, name: string, input: string): Promise<void> {
  const text = `import { defineFlow, v } from "flowhook";
export default defineFlow({ input: ${input}, run: () => null });
`;
  await writeFile(join(service.directory, "plugins", `${name}.ts`), text);
  await service.reloadFlows();
}

const UNFIT = { name: 7, address: { city: null } };

function refusal(errors: readonly { field: string; message: string }[]): CallRow["expect"] {
  const type = "urn:flowhook:error:invalid_input";
  const detail = errors.map(({ field, message }) => `${field}: ${message}`).join("; ");
  return {
    status: 422,
    execution: "none",
    body: {
      problem: { type, errors, detail: `The input does not fit the flow's schema: ${detail}` },
    },
  };
}

const CALLS: CallRow[] = [
  {
    name: "an input that fits runs, with the members that the schema does not name beside it",
    covers: ["D9.2 refuse", "D11.1 beside"],
    webhook: "refuse",
    method: "POST",
    path: "/a?size=3",
    body: { name: "Ada" },
    expect: {
      status: 200,
      body: {
        json: {
          hello: "Ada",
          method: "POST",
          path: "a",
          type: "application/json",
          query: { size: "3" },
        },
      },
    },
  },
  {
    name: "what the schema does not name stays beside it under run, too",
    covers: ["D11.1 beside"],
    webhook: "run",
    method: "PUT",
    body: { name: "Ada" },
    expect: {
      status: 200,
      body: {
        json: { hello: "Ada", method: "PUT", path: null, type: "application/json", query: {} },
      },
    },
  },
  {
    name: "an input that does not fit is refused by its fields, and nothing is recorded",
    covers: ["D9.2 refuse"],
    webhook: "refuse",
    method: "POST",
    path: "?size=x",
    body: UNFIT,
    expect: refusal([
      { field: "query.size", message: "does not match the pattern" },
      { field: "json.name", message: "expected string" },
      { field: "json.address.city", message: "expected string" },
    ]),
  },
  {
    name: "a body that is missing is a field that is missing",
    covers: ["D9.2 refuse"],
    webhook: "refuse",
    expect: refusal([{ field: "json", message: "expected, but it is missing" }]),
  },
  {
    name: "under run it is an execution that failed",
    covers: ["D9.2 run"],
    webhook: "run",
    method: "POST",
    body: UNFIT,
    expect: {
      status: 500,
      body: { contains: ["ENDED_ERROR: Input does not fit the flow's schema: json.name: "] },
      execution: { status: "ENDED_ERROR" },
    },
  },
  {
    name: "what is transformed is checked as it is sent",
    covers: ["D9.2 refuse"],
    webhook: "refuse",
    method: "POST",
    body: { name: "   Ada   " },
    expect: { status: 200, body: { contains: ['"hello":"Ada"'] } },
  },
  {
    name: "what JSON Schema admits and the schema refuses ends as under run",
    covers: ["D9.2 run"],
    webhook: "refuse",
    method: "POST",
    body: { name: "too long a name" },
    expect: { status: 500, execution: { status: "ENDED_ERROR" } },
  },
];

/**
 * Whether others are answered while checks without end take their time: twenty requests, and then
 * `pass`. Behind such a check they would come after its answer.
 */
async function answersBeside(
  service: Service,
  bodies: readonly object[],
  pass: () => Promise<void>,
): Promise<boolean> {
  let refusals = 0;
  const slow = bodies.map((body) => post(service, "costly", body).finally(() => (refusals += 1)));
  for (let n = 0; n < 20; n += 1)
    assert.equal((await service.api("GET", "/workspace")).status, 200);
  await pass();
  const isBeside = refusals === 0;
  for (const refused of await Promise.all(slow)) {
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.text, /takes longer than \d s to check against the flow's schema/);
  }
  return isBeside;
}

/** A machine that pauses for as long as a check may take hides it: then it is looked at again. */
async function isSeen(look: () => Promise<boolean>): Promise<boolean> {
  for (let turn = 0; turn < 5; turn += 1) if (await look()) return true;
  return false;
}

async function authenticate(service: Service, webhook: string, members: object): Promise<void> {
  const body = { password: ADMIN_PASSWORD, ...members };
  const { status, text } = await service.api("PUT", `/webhook/${webhook}/authentication`, body);
  assert.equal(status, 200, text);
}

/** One that may end while the service's own goes on. */
async function loginBeside(service: Service): Promise<Record<string, string>> {
  const admin = { user_name: "admin", password: ADMIN_PASSWORD };
  const { body } = await service.api("POST", "/auth/login", admin);
  return { "x-service-token": (body as { token: string }).token };
}

const STORIES: StoryRow[] = [
  {
    name: "in the order of checks: after the body and the key, before the room",
    covers: ["D9.2 order"],
    async run(service) {
      const before = await countExecutions(service, "keyed");
      const broken = await call(service, "refuse", "?async", {
        method: "POST",
        body: "{",
        headers: JSON_TYPE,
      });
      assert.equal(broken.status, 400, broken.text);
      const key = { "idempotency-key": "one" };
      const unfit = await post(service, "keyed", UNFIT, "?async", key);
      assert.equal(unfit.status, 422);
      assert.match(unfit.text, /invalid_input/);
      const fit = await post(service, "keyed", { name: "Ada" }, "?async", key);
      assert.equal(fit.status, 201, "a refused call leaves its key to the next one");
      const other = await post(service, "keyed", UNFIT, "?async", key);
      assert.match(other.text, /idempotency_mismatch/, "the key is looked at first");
      assert.equal(await countExecutions(service, "keyed"), before + 1);
    },
  },
  {
    name: "every refusal is listed with its reason, without the body",
    covers: ["D9.2 refuse"],
    async run(service) {
      await post(service, "refuse", { name: "canary-of-body", address: "canary-of-body" });
      // Another node lists it a moment later.
      const text = await poll("the refused call", async () => {
        const newest = await service.api("GET", "/webhook/refuse/refusal?limit=1");
        return newest.text.includes("json.address: expected object") ? newest.text : null;
      });
      assert.match(text, /"code":"invalid_input"/);
      assert.match(text, /json\.address: expected object/);
      assert.match(text, /"body_sha256":"[0-9a-f]{64}"/);
      assert.doesNotMatch(text, /canary-of-body/);
    },
  },
  {
    name: "a schema that costs without end costs nobody else anything",
    covers: ["D9.2 cost"],
    async run(service) {
      for (const body of [{ text: `${"a".repeat(40)}!` }, { choice: "a" }])
        assert.ok(
          await isSeen(() => answersBeside(service, [body], async () => {})),
          "the server's main thread is free",
        );
      const passBy = async (): Promise<void> =>
        assert.equal((await post(service, "refuse", { name: "Ada" })).status, 201);
      const two = [{ choice: "a" }, { choice: "a" }];
      assert.ok(
        await isSeen(() => answersBeside(service, two, passBy)),
        "it has had its chance to hold up others",
      );
      assert.equal(await countExecutions(service, "costly"), 0);
      assert.equal((await post(service, "costly", { text: "aaa" })).status, 201);
    },
  },
  {
    name: "what has waited for its check is matched once more behind it",
    covers: ["D9.2 order"],
    async run(service) {
      let statuses: readonly number[] = [];
      const look = async (): Promise<boolean> => {
        for (const [webhook, key] of [
          ["closed", null],
          ["rekeyed", KEY],
        ] as const)
          await authenticate(service, webhook, { is_enabled: true, key });
        let refusals = 0;
        const text = `${"a".repeat(40)}!`;
        const slow = post(service, "costly", { text }).finally(() => (refusals += 1));
        assert.equal((await service.api("GET", "/workspace")).status, 200);
        const token = await loginBeside(service);
        const waiting = [
          call(service, "closed", "?async"),
          call(service, "logged", "?async", { headers: token }),
          post(service, "rekeyed", { text: "aaa" }, `?async&key=${KEY}`),
        ];
        assert.equal((await service.api("GET", "/workspace")).status, 200);
        await authenticate(service, "closed", { is_enabled: false });
        await authenticate(service, "rekeyed", { key: `${KEY}-of-now` });
        await service.api("POST", "/auth/logout", undefined, token);
        const isBeside = refusals === 0;
        statuses = (await Promise.all(waiting)).map(({ status }) => status);
        await slow;
        return isBeside;
      };
      assert.ok(await isSeen(look), "both were changed while their calls waited");
      assert.deepEqual(statuses, [404, 401, 401]);
    },
  },
  {
    name: "it is set where there is a schema alone",
    covers: ["D9.2 member"],
    async run(service) {
      const refuse = { input_check: "refuse" };
      const none = await service.api("PATCH", "/webhook/echo", refuse);
      assert.equal(none.status, 422);
      assert.match(
        none.text,
        /input_check: \\"refuse\\" needs a JSON Schema .*\\"echo\\" has none/,
      );
      const made = { name: "unchecked", flow: "echo", ...refuse };
      assert.equal((await service.api("POST", "/webhook", made)).status, 422);
      const wrong = await service.api("PATCH", "/webhook/refuse", { input_check: "both" });
      assert.match(wrong.text, /input_check: expected \\"run\\" or \\"refuse\\"/);
      const moved = await service.api("PATCH", "/webhook/refuse", { flow: "echo" });
      assert.equal(moved.status, 422, "nor is its flow changed for one without");
      const { body } = await service.api("GET", "/webhook/refuse");
      assert.equal((body as { input_check: string }).input_check, "refuse");
      const document = await service.api("GET", "/export?webhook=refuse&webhook=run");
      assert.equal(document.text.match(/input_check/g)?.length, 1, document.text);
    },
  },
  {
    name: "half of a surrogate pair is a name in a body, and in no schema",
    covers: ["D9.2 member"],
    async run(service) {
      const counts = "v.object({ json: v.record(v.string(), v.number()) })";
      await writeFlow(service, "counts", counts);
      await service.createWebhook("counts", "counts", { input_check: "refuse" });
      const fit = await post(service, "counts", { "\ud800": 1, "\udc00": 2 });
      assert.equal(fit.status, 201, fit.text);
      const unfit = await post(service, "counts", { "\ud800": "one" });
      assert.equal(unfit.status, 422);
      assert.match(unfit.text, /json.\ufffd: expected number/);
      await writeFlow(service, "half", 'v.object({ json: v.object({ "a\\ud800": v.string() }) })');
      const half = { name: "half", flow: "half", input_check: "refuse" };
      const made = await service.api("POST", "/webhook", half);
      assert.equal(made.status, 422);
      assert.match(made.text, /the name .*ud800.* in it has half of a surrogate pair/);
    },
  },
  {
    name: "a later version without a schema runs, and is warned of once",
    covers: ["D9.2 later"],
    async run(service) {
      const path = join(service.directory, "plugins", "later.ts");
      const text = 'export default () => "no schema";\n';
      assert.equal((await post(service, "later", UNFIT)).status, 422);
      await writeFile(path, text);
      await service.reloadFlows();
      for (const answer of [await post(service, "later", 1), await post(service, "later", 2)])
        assert.equal(answer.status, 201, answer.text);
      const warned = service.logs().match(/Input is not checked before the run/g);
      assert.equal(warned?.length, 1);
      const named = await service.api("PATCH", "/webhook/later", { description: "as it was" });
      assert.equal(named.status, 200, "what was set before is in nobody's way");
    },
  },
];

export const INPUT_CHECK: Group = {
  name: "input check",
  flows: ["checked", "costly", "echo", "later"],
  webhooks: {
    refuse: { flow: "checked", input_check: "refuse" },
    run: { flow: "checked" },
    keyed: {
      flow: "checked",
      input_check: "refuse",
      idempotency: { from: "header:idempotency-key" },
    },
    costly: { flow: "costly", input_check: "refuse" },
    closed: { flow: "costly", input_check: "refuse" },
    logged: { flow: "costly", input_check: "refuse", require_login: true },
    rekeyed: { flow: "costly", input_check: "refuse", key: KEY },
    later: { flow: "later", input_check: "refuse" },
    echo: { flow: "echo" },
  },
  rows: [...CALLS, ...STORIES],
};
