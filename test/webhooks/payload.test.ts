import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { hashKey } from "../../src/server/access/api-key.ts";
import {
  isParsedAtOnce,
  parsePayload,
  type ParseRules,
} from "../../src/server/webhooks/payload.ts";

const KEY = "a-key-of-payloads-0123456789";
const OLD = "the-key-before-it-0123456789";
const ACCEPTED = {
  key_hash: hashKey(KEY),
  previous_key_hash: hashKey(OLD),
  previous_key_until: 1000,
};

const rules = (type: ParseRules["type"], accepted: ParseRules["accepted"] = ACCEPTED) => ({
  type,
  limit: 1_000_000,
  accepted,
  at: 500,
});

const value = fc.oneof(
  fc.constantFrom(KEY, OLD, "another key of the payload", 17, null, [KEY], { key: KEY }),
  fc.jsonValue({ maxDepth: 2 }),
);
const name = fc.constantFrom("key", "key", "a", "__proto__", "keys");

test("L6: no top-level member holds the key, and every other one stays as it was sent", () => {
  const isKey = (text: string): boolean => [KEY, OLD].includes(text);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 6 }), (members) => {
      const toText = ([one, of]: [string, unknown]) =>
        `${JSON.stringify(one)}: ${JSON.stringify(of)}`;
      const text = `{${members.map(toText).join(", ")}}`;
      const parsed = parsePayload(text, rules("json"));
      const kept = members.filter(
        ([one, of]) => !(one === "key" && typeof of === "string" && isKey(of)),
      );
      assert.equal(parsed.isStripped, kept.length < members.length);
      assert.equal(parsed.json, parsed.isStripped ? `{${kept.map(toText).join(",")}}` : null);
      const last = members.findLast(([one]) => one === "key")?.[1];
      const kinds = new Map<unknown, string>([
        [KEY, "current"],
        [OLD, "previous"],
      ]);
      assert.equal(parsed.key, kinds.get(last) ?? null, "the last one counts");
    }),
    { numRuns: 1000 },
  );
});

test("L6: a key that is not accepted any more, or of no webhook, is a value like any other", () => {
  const text = `{"key":"${OLD}"}`;
  const late = { ...rules("json"), at: 1001 };
  for (const parse of [late, rules("json", null)])
    assert.deepEqual(parsePayload(text, parse), { json: null, key: null, isStripped: false });
});

test("L6: of YAML and forms the key is taken out, and the body as it was sent is not passed on", () => {
  for (const [type, text, json] of [
    ["yaml", `key: ${KEY}\na: [1]`, '{"a":[1]}'],
    ["yaml", `a: 1\n"key": "${OLD}"`, '{"a":1}'],
    ["form", `a=1&key=${KEY}`, '{"a":"1"}'],
    ["form", `key=x&key=${KEY}`, '{"key":"x"}'],
    ["form", `key=${KEY}&key=x`, "{}"],
  ] as const)
    assert.deepEqual(parsePayload(text, rules(type)), { json, key: null, isStripped: true });
  for (const [type, text, json] of [
    ["yaml", `key: x\na: ${KEY}`, `{"key":"x","a":"${KEY}"}`],
    ["yaml", `- ${KEY}`, `["${KEY}"]`],
    ["form", `key=x&a=${KEY}`, `{"key":"x","a":"${KEY}"}`],
  ] as const)
    assert.deepEqual(parsePayload(text, rules(type)), { json, key: null, isStripped: false });
});

test("small bodies are parsed in the HTTP loop, but for what makes them slow", () => {
  const laughs = "a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]";
  for (const [type, text, isAtOnce] of [
    ["json", '{"a": "*b"}', true],
    ["json", `"\\${"a".repeat(16 * 1024)}"`, false],
    ["json", `"${"a".repeat(16 * 1024)}"`, true],
    ["form", "a=*b", true],
    ["yaml", "a: &a [1]", true],
    ["yaml", laughs, false],
    ["yaml", "a: {<<: *a}", false],
    ["yaml", `- ${"a".repeat(16 * 1024)}`, false],
  ] as const)
    assert.equal(isParsedAtOnce(Buffer.from(text), type), isAtOnce, `${type} ${text.slice(0, 20)}`);
});
