import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { send, type Answer } from "../blackbox/client.ts";
import { assertAside } from "./aside.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Bodies that take long to parse: whoever else calls meanwhile is answered as ever. */

const MB = 1024 * 1024;
const MAX_BODY_BYTES = 10 * MB;
const MOST_YAML_BYTES = MB;
const KEY = "faults-suite-key-of-parsing";

interface Body {
  readonly name: string;
  readonly type: string;
  readonly text: string;
  readonly status: number;
  readonly target?: string;
}

const CALL = "/api/latest/webhook";
const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

function fill(size: number, make: (n: number) => string): string {
  const parts: string[] = [];
  for (let n = 0, length = 0; length < size; n += 1) {
    const part = make(n);
    parts.push(part);
    length += part.length;
  }
  return parts.join("").slice(0, size - 200);
}

const json = (name: string, text: string, status = 201): Body => ({
  name: `JSON ${name}`,
  type: JSON_TYPE,
  text,
  status,
});
const yaml = (name: string, make: (n: number) => string, [open, close] = ["", ""]): Body => {
  const whole = fill(MOST_YAML_BYTES, make);
  const cut = whole.slice(0, whole.lastIndexOf(make(0).at(-1) ?? "") + 1);
  return { name: `YAML ${name}`, type: "application/yaml", text: open + cut + close, status: 201 };
};
const form = (name: string, make: (n: number) => string): Body => ({
  name: `form ${name}`,
  type: FORM,
  text: fill(MAX_BODY_BYTES, make),
  status: 201,
});

const LISTS = `[${"[],".repeat(3_300_000)}[]]`;
const FLOW: [string, string] = ["[", "]"];
const MAP: [string, string] = ["{", "}"];

const BODIES: readonly Body[] = [
  json("of lists", LISTS),
  json("of objects", `[${"{},".repeat(3_300_000)}{}`, 400),
  json("that ends too early", LISTS.slice(0, -1), 400),
  json("with one name again and again", `{${'"key":1,'.repeat(1_200_000)}"a":1}`),
  yaml("list in brackets", () => "a,", FLOW),
  yaml("nulls", () => "~,", FLOW),
  yaml("map in braces", (n) => `k${n.toString(36)}: v,`, MAP),
  yaml("map", (n) => `k${n.toString(36)}: v\n`),
  yaml("list", () => "- a\n"),
  yaml("anchors", () => "- &a a\n"),
  yaml("tags", () => "- !!null ~\n"),
  yaml("numbers", () => "1,", FLOW),
  form("of many names", (n) => `k${n.toString(36)}=v&`),
  form("of one name", () => "a&"),
  form("of numbers", (n) => `${n}&`),
  form("of escapes", () => "a=%41%42%43&"),
];

/** Elsewhere than at a public webhook. */
const OTHERS: readonly Body[] = [
  {
    ...json("without a key where one is needed", LISTS, 401),
    target: `${CALL}/keyed/call?async`,
  },
  {
    ...json("with the key in the query", LISTS),
    target: `${CALL}/keyed/call?async&key=${KEY}`,
  },
  {
    name: "JSON to the login",
    type: JSON_TYPE,
    text: `{"user_name":[${"[],".repeat(600_000)}[]],"password":""}`,
    status: 413,
    target: "/api/latest/auth/login",
  },
];

/** Gives back many lists, its output or in a response of its own. */
const LARGE = `const lists = Array(3_000_000).fill([]);
  export default ({ input_value, webhook_json_response, webhook_response }) => {
    if (input_value.query.control) return webhook_response({ status: 200, body: "\\u0001".repeat(10_000_000) });
    if (!input_value.query.response) return lists;
    webhook_json_response(lists);
    return null;
  };`;

describe("parsing", () => {
  let service: TestService;
  let token = "";
  before(async () => {
    const config = { MAX_BODY_BYTES, MAX_OUTPUT_BYTES: 10 * MB, FLOW_MAX_CONCURRENT: 1 };
    const files = { "large.ts": LARGE };
    service = await openTestService({ flows: ["echo", "sleep"], files, config });
    await service.createWebhook("large", "large", { is_productive: true, sync_mode: "hold" });
    const fields = { is_productive: true, sync_mode: "hold" };
    for (const name of ["other", "echoing"]) await service.createWebhook(name, "echo", fields);
    // What is accepted waits behind this one: only the parsing is looked at, not the running.
    await service.createWebhook("open", "sleep", fields);
    assert.equal((await service.call("open", "?async&ms=280000")).status, 201);
    await service.createWebhook("keyed", "sleep", { ...fields, key: KEY });
    const given = { user_name: "admin", password: "correct horse battery staple 7" };
    const login = await service.api("POST", "/auth/login", given, "");
    ({ token } = JSON.parse(login.text) as { token: string });
  });
  after(() => service[Symbol.asyncDispose]());

  for (const body of [...BODIES, ...OTHERS])
    test(`H6: others are answered while this is parsed: ${body.name}`, async () => {
      await assertAside(service, body.name, body.status, () => post(service, body, {}));
    });

  test("H6: others are answered while a large input is given through the API", async () => {
    const text = `{"input_value":[${"[],".repeat(650_000)}[]]}`;
    const target = "/api/latest/flow/sleep/execution";
    const large = { name: "", type: JSON_TYPE, text, status: 201, target };
    const started = await assertAside(service, "input of a flow", 201, () =>
      post(service, large, { "x-service-token": token }),
    );
    const { id } = JSON.parse(started.text) as { id: string };
    const record = await service.api("GET", `/execution/${id}`);
    assert.ok(record.text.includes('"input_value":[[],[],'), "it arrives as it was sent");
  });

  for (const query of ["", "?response=1"])
    test(`H6: others are answered while much is looked at that a flow gives${query}`, async () => {
      const answer = await assertAside(service, `output${query}`, 200, () =>
        service.call("large", query),
      );
      assert.equal(answer.text.length, 9_000_001);
    });

  test("H6: a response that takes six times its size as JSON is not read", async () => {
    const answer = await assertAside(service, "response of control characters", 500, () =>
      service.call("large", "?control=1"),
    );
    assert.match(answer.text, /too large: 60\d{6} characters as JSON/);
  });

  test("H6: others are answered while an import is read", async () => {
    const text = `format: flowhook/export/v1\nwebhooks: [${"{},".repeat(600_000)}{}]`;
    const large = {
      name: "",
      type: "application/yaml",
      text,
      status: 422,
      target: "/api/latest/import",
    };
    await assertAside(service, "import", 422, () =>
      post(service, large, { "x-service-token": token }),
    );
  });

  test("H6: YAML of one client holds up neither JSON nor another client's YAML", async () => {
    const slow = BODIES.find(({ name }) => name === "YAML list in brackets") as Body;
    const answered: string[] = [];
    const ask = async (name: string, body: Body, localAddress: string): Promise<Answer> => {
      const answer = await post(service, body, {}, localAddress);
      answered.push(`${name} ${answer.status}`);
      return answer;
    };
    const greedy = Array.from({ length: 40 }, () => ask("greedy", slow, "127.0.0.2"));
    const told = greedy.map(async (asked) => {
      const answer = await asked;
      assert.equal(answer.status, 503);
      return answer;
    });
    const refused = await Promise.any(told);
    assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
    const begun = served(answered);
    const text = JSON.stringify({ text: "x".repeat(70_000) });
    const beside = ask("JSON", { ...slow, type: JSON_TYPE, text }, "127.0.0.2");
    const other = ask("other", { ...slow, text: `[${"a,".repeat(10_000)}]` }, "127.0.0.3");
    assert.equal((await beside).status, 201);
    assert.ok(served(answered) <= begun + 2, answered.join(", "));
    assert.equal((await other).status, 201);
    assert.ok(served(answered) <= begun + 2, answered.join(", "));
    await Promise.all(greedy);
    assert.ok(served(answered) >= 4, "its share is answered");
  });

  test("H6: YAML above its limit is refused by name, before it is read", async () => {
    const text = `a: ${"x".repeat(MOST_YAML_BYTES)}`;
    for (const type of ["application/yaml", "text/yaml", "application/x-yaml"]) {
      const answer = await post(service, { name: "", type, text, status: 413 }, {});
      assert.equal(answer.status, 413);
      assert.match(answer.text, /1048576 bytes, which is the most for YAML/);
    }
  });

  test("H6: what is parsed elsewhere comes out as what is parsed at once", async () => {
    const padding = "x".repeat(100_000);
    const bodies: [string, string, unknown][] = [
      [JSON_TYPE, JSON.stringify({ a: [1, "ü", null], padding }), { a: [1, "ü", null], padding }],
      ["application/yaml", `a: [1, ü, ~]\npadding: ${padding}`, { a: [1, "ü", null], padding }],
      [FORM, `a=1&b=%C3%BC&padding=${padding}`, { a: "1", b: "ü", padding }],
    ];
    for (const [type, text, expected] of bodies) {
      const target = `${CALL}/echoing/call`;
      const answer = await post(service, { name: "", type, text, status: 200, target }, {});
      assert.equal(answer.status, 200, answer.text.slice(0, 200));
      assert.deepEqual((JSON.parse(answer.text) as { json: unknown }).json, expected);
    }
    const broken = await post(service, { ...json("", `{"a":"${padding}",}`), status: 400 }, {});
    assert.match(broken.text, /The body is not JSON: found .* at line 1, column 100009/);
  });
});

/** Bodies of the greedy client that were parsed. */
function served(answered: readonly string[]): number {
  return answered.filter((line) => line === "greedy 201").length;
}

async function post(
  service: TestService,
  body: Body,
  headers: Record<string, string>,
  localAddress?: string,
): Promise<Answer> {
  return send(service.origin, {
    method: "POST",
    ...(localAddress === undefined ? {} : { localAddress }),
    target: body.target ?? `${CALL}/open/call?async`,
    headers: { "content-type": body.type, ...headers },
    body: body.text,
  });
}
