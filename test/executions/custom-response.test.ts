import assert from "node:assert/strict";
import { test } from "node:test";
import { checkResponse } from "../../src/executions/custom-response.ts";

const check = (response: object, sandboxed = true) =>
  checkResponse(JSON.stringify({ status: 200, headers: {}, body: "", ...response }), sandboxed);

const FAULTS: readonly [object, RegExp][] = [
  [{ status: 199 }, /199.*200 to 599/],
  [{ status: 600 }, /600/],
  [{ status: null }, /null/],
  [{ status: "200" }, /"200"/],
  [{ status: 200.5 }, /200\.5/],
  [{ body: 5 }, /type number/],
  [{ headers: [] }, /a list/],
  [{ headers: { "a b": "c" } }, /"a b" is no header name/],
  [{ headers: { a: "x\r\nset-cookie: y" } }, /RFC 9110/],
  [{ headers: { a: "\0" } }, /RFC 9110/],
  [{ headers: { a: "\u{1F600}" } }, /RFC 9110/],
  [{ headers: { a: 1 } }, /type number/],
  [{ body_encoding: "hex" }, /base64/],
];

for (const [response, fault] of FAULTS)
  test(`${JSON.stringify(response)} breaks a rule`, () => {
    const checked = check(response);
    assert.ok("fault" in checked);
    assert.match(checked.fault, fault);
  });

test("headers of the connection, the origin and the own cookie are left out with a warning", () => {
  const headers = {
    Connection: "close",
    "proxy-authenticate": "x",
    "Alt-Svc": "x",
    "set-cookie": ["a=1", " service-token =x"],
    "x-kept": "yes",
  };
  const checked = check({ headers });
  assert.ok("response" in checked);
  assert.deepEqual(checked.response.headers, { "set-cookie": "a=1", "x-kept": "yes" });
  assert.equal(checked.warnings.length, 4);
  const open = check({ headers }, false);
  assert.ok("response" in open && open.response.headers["Alt-Svc"] === "x");
});
