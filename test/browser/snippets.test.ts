import assert from "node:assert/strict";
import { test } from "node:test";
import { SIGNED_SNIPPETS, SNIPPETS } from "../../src/browser/snippets.ts";

const OPTIONS = {
  url: "http://127.0.0.1/call",
  key: null,
  require_login: false,
  body: { name: "Zoë" },
};

test("no text ends a text of PowerShell, which takes curly quotes for straight ones", () => {
  const [, write] = SNIPPETS.find(([name]) => name === "PowerShell")!;
  const snippet = write({ ...OPTIONS, body: { name: "Ada\u2019; it's \u2018\u201a\u201b" } });
  const [, body = ""] = /-Body '(.*)'$/s.exec(snippet) ?? [];
  assert.equal(body.replaceAll(/(['\u2018-\u201b])\1/g, "").search(/['\u2018-\u201b]/), -1);
});

test("Windows PowerShell is told to send UTF-8", () => {
  const [, write] = SNIPPETS.find(([name]) => name === "PowerShell")!;
  assert.match(write(OPTIONS), /-ContentType 'application\/json; charset=utf-8'/);
});

test("a name like an option is none for the command that signs", () => {
  const [, write] = SIGNED_SNIPPETS[0]!;
  const url = "http://127.0.0.1/api/latest/webhook/-dash/call";
  assert.match(write({ ...OPTIONS, url }), /^flowhook call --sign --url .*\n.* -- '-dash'$/ms);
});
