import assert from "node:assert/strict";
import { test } from "node:test";
import { SNIPPETS } from "../../src/browser/snippets.ts";

const OPTIONS = {
  url: "http://127.0.0.1/call",
  key: null,
  require_login: false,
  body: { name: "Zoë" },
};

test("Windows PowerShell is told to send UTF-8", () => {
  const [, write] = SNIPPETS.find(([name]) => name === "PowerShell")!;
  assert.match(write(OPTIONS), /-ContentType 'application\/json; charset=utf-8'/);
});
