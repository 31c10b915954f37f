import assert from "node:assert/strict";
import { test } from "node:test";
import {
  readFilterWords,
  toFilterWord,
  unknownFilterWord,
} from "../../src/browser/filter-words.ts";

const NAMES = ["webhook", "flow"];

test("a search has its filters taken out, and what is none stays text", () => {
  const rows: [string, string, Record<string, string>][] = [
    ["", "", {}],
    ["no stock", "no stock", {}],
    ["webhook:orders", "", { webhook: "orders" }],
    ["no webhook:orders stock flow:count", "no stock", { webhook: "orders", flow: "count" }],
    ['flow:"a b" left', "left", { flow: "a b" }],
    ["Webhook:Orders", "", { webhook: "Orders" }],
    ['webhook:"a ""b"" c" left', "left", { webhook: 'a "b" c' }],
    ["Error: no stock", "Error: no stock", {}],
    ["other:orders", "other:orders", {}],
    ["__proto__:x", "__proto__:x", {}],
    ["webhook:", "webhook:", {}],
    ["xwebhook:orders", "xwebhook:orders", {}],
  ];
  for (const [typed, text, named] of rows)
    assert.deepEqual(readFilterWords(typed, NAMES), { text, named }, typed);
});

test("a word that looks like a filter and is none is found", () => {
  const rows: [string, string | null][] = [
    ["", null],
    ["no stock", null],
    ["webhook:orders", null],
    ["webhook:orders state:failed", "state"],
    ["Error: no stock", null],
  ];
  for (const [text, name] of rows) assert.equal(unknownFilterWord(text, NAMES), name, text);
});

test("a word for a filter is read as that filter", () => {
  for (const value of ["orders", "new orders", 'a"b', '"', 'the "new" ones'])
    assert.deepEqual(readFilterWords(toFilterWord("webhook", value), NAMES).named, {
      webhook: value,
    });
});
