import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import Database from "better-sqlite3";
import { AT_ONCE } from "../../src/server/api/json-body.ts";
import { itemsOf, memberOf, openTestService, type TestService } from "./test-service.ts";

/** How large settings, and lists of them, become. */

const MOST_BYTES = 64 * 1024;
const PAGE_BYTES = 1024 * 1024;

let service: TestService;

before(async () => {
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

/** A text whose JSON has so many bytes. */
const textOf = (bytes: number): string => "x".repeat(bytes - 2);

test("M5: a value of up to 64 KB is kept, and a longer one refused by name", async () => {
  await service.want(201, "POST", "/setting", {
    body: { name: "full", value: textOf(MOST_BYTES) },
  });
  await service.want(200, "PATCH", "/setting/full", { body: { value: textOf(MOST_BYTES) } });
  const values: unknown[] = [
    textOf(MOST_BYTES + 1),
    "ü".repeat(MOST_BYTES / 2),
    Array.from({ length: MOST_BYTES }, () => 1),
    { deep: textOf(1_500_000) },
  ];
  for (const value of values)
    for (const [method, path, body] of [
      ["POST", "/setting", { name: "longer", value }],
      ["PATCH", "/setting/full", { value }],
    ] as const) {
      const { json, code } = await service.want(422, method, path, { body });
      assert.equal(code, "invalid");
      const { errors } = json as { errors: { field: string; message: string }[] };
      assert.deepEqual(
        errors.map(({ field }) => field),
        ["value"],
      );
      assert.match(errors[0]!.message, /expected at most 65536 bytes of JSON, found \d+/);
    }
  await service.want(404, "GET", "/setting/longer");
});

test("M5: a list of settings is bounded in bytes, and its pages have no gaps", async () => {
  const names = Array.from({ length: 40 }, (_, n) => `large-${String(n).padStart(2, "0")}`);
  for (const name of names)
    await service.want(201, "POST", "/setting", { body: { name, value: textOf(60_000) } });
  // As flows may have written them before.
  const db = new Database(join(service.directory, "data/flowhook.db"));
  const insert = db.prepare("insert into setting values (?, ?, 1, 1)");
  for (const name of ["huge-1", "huge-2"]) insert.run(name, JSON.stringify(textOf(3_000_000)));
  db.close();
  for (const order of ["asc", "desc"]) {
    const found: string[] = [];
    let cursor = "";
    do {
      const query = `limit=30&order=${order}${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const { json, text } = await service.want(200, "GET", `/setting?${query}`);
      const items = itemsOf(json);
      assert.ok(items.length === 1 || text.length < PAGE_BYTES + 10_000, `${text.length} bytes`);
      found.push(...items.map((item) => String(item["name"])));
      cursor = memberOf(json, "next_cursor");
    } while (cursor !== "null");
    const all = ["full", "huge-1", "huge-2", ...names];
    assert.deepEqual(found, order === "asc" ? all : all.toReversed());
  }
});

test("M5: a list of secrets does not read what they hold", async () => {
  for (let n = 0; n < 3; n += 1)
    await service.want(201, "POST", "/secret", { body: { name: `s-${n}`, value: textOf(60_000) } });
  const { json } = await service.want(200, "GET", "/secret?limit=2");
  assert.deepEqual(
    itemsOf(json).map((item) => item["name"]),
    ["s-0", "s-1"],
  );
  assert.notEqual(memberOf(json, "next_cursor"), "null");
});

const LONG = "12345678901234567890.000000000000000001";

test("a number keeps its digits, in a setting as in the input of a replay", async () => {
  const value = `{"id":${LONG},"ids":[${LONG}]}`;
  const long = `"${"x".repeat(AT_ONCE)}"`;
  for (const [method, path, name, status] of [
    ["POST", "/setting", "exact", 201],
    ["PATCH", "/setting/exact", null, 200],
  ] as const) {
    const text = `{${name === null ? "" : `"name":"${name}",`}"value":${value}}`;
    const headers = { "content-type": "application/json" };
    const told = await service.want(status, method, path, { text, headers });
    assert.ok(told.text.includes(`"value":${value}`), told.text);
  }
  assert.ok((await service.want(200, "GET", "/setting/exact")).text.includes(value));
  assert.ok((await service.want(200, "GET", "/setting?limit=500")).text.includes(value));
  const headers = { "content-type": "application/json" };
  for (const more of ["", `,"long":${long}`]) {
    const input = `{"json":${value}${more}}`;
    const text = `{"input_value":${input}}`;
    const first = await service.want(201, "POST", "/flow/echo/execution", { text, headers });
    const replay = `/execution/${memberOf(first.json, "id")}/replay`;
    for (const again of ["{}", text]) {
      const { json } = await service.want(201, "POST", replay, { text: again, headers });
      const record = await service.want(200, "GET", `/execution/${memberOf(json, "id")}`);
      assert.ok(record.text.includes(`"input_value":${input}`), again.slice(0, 20));
    }
  }
});

test("a value that nests too deep is refused, at once and in a large body", async () => {
  const deep = "[".repeat(5000) + "]".repeat(5000);
  const long = `"${"x".repeat(AT_ONCE)}"`;
  for (const value of [deep, `[${deep},${long}]`]) {
    const text = `{"name":"deep","value":${value}}`;
    const reply = await service.want(400, "POST", "/setting", { text });
    assert.match(reply.text, /nested deeper than 1001 levels/);
  }
  const most = "[".repeat(1000) + "]".repeat(1000);
  await service.want(201, "POST", "/setting", { text: `{"name":"deep","value":${most}}` });
});
