import assert from "node:assert/strict";
import { test } from "node:test";
import { readKey } from "../../src/server/access/signature-key.ts";
import { PRESETS } from "../../src/server/access/signature-scheme.ts";
import type { PresetName } from "../../src/shared/contract/signature-scheme.ts";
import { signCall } from "../../src/server/access/signature-sign.ts";
import { AT, judge, preset } from "./signed.ts";

for (const name of Object.keys(PRESETS) as PresetName[])
  test(`what is signed as ${name} is admitted as such`, () => {
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const [scheme] = preset(name);
    assert.ok(scheme);
    const key = readKey("s", secret, scheme);
    assert.ok(typeof key !== "string");
    const body = Buffer.from([0, 255, 10]);
    const url = "https://example.org/api/latest/webhook/w/call";
    const headers = signCall(scheme, key, { method: "POST", url, body, id: "1", at: AT });
    assert.ok(headers !== null);
    assert.equal(judge({ schemes: [scheme], secrets: [secret] }, { headers, body, url }), "s0");
  });
