import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openRedaction } from "../../src/server/webhooks/redaction.ts";

const secret = fc.stringMatching(/^[\x21-\x7e]{16,40}$/);
const text = fc.stringMatching(/^[ -~]{0,20}$/);

test("L6: a secret is found wherever it stands, percent-encoded or not", () => {
  fc.assert(
    fc.property(secret, text, text, (sought, before, after) => {
      const redact = openRedaction([sought]);
      const every = [...sought].map((one) => `%${one.charCodeAt(0).toString(16)}`).join("");
      const once = encodeURIComponent(sought);
      for (const form of [sought, once, encodeURIComponent(once), every, every.toUpperCase()]) {
        const found = redact(`${before}|${form}|${after}`);
        assert.ok(!found.includes(form), found);
        assert.ok(found.includes("***"));
      }
    }),
  );
});

test("L6: what holds no secret stays, and short ones are not looked for", () => {
  const sought = "a-secret-of-20-chars";
  const redact = openRedaction([sought, "short"]);
  for (const one of ["", "short", "a%2Dsecret", sought.slice(1), sought.toUpperCase(), "%%2"])
    assert.equal(redact(one), one);
});

test("L6: of two secrets the longer one goes whole", () => {
  const redact = openRedaction(["a-secret-of-20-chars", "a-secret-of-20-chars-and-more"]);
  assert.equal(redact("a-secret-of-20-chars-and-more a-secret-of-20-chars"), "*** ***");
});

test("what many secrets cost in a long text stays far below a second", () => {
  const secrets = Array.from({ length: 40 }, (_, at) => `${"a".repeat(250)}${at}`);
  for (const text of ["a".repeat(8000) + "%41", "%61".repeat(4000), "%" + "25".repeat(7000)]) {
    const tries = Array.from({ length: 3 }, () => {
      const begun = performance.now();
      assert.equal(openRedaction(secrets)(text), text);
      return performance.now() - begun;
    });
    const took = Math.min(...tries);
    assert.ok(took < 300, `${took} ms`);
  }
});
