import assert from "node:assert/strict";
import { test } from "node:test";
import { openAddressList, readRange } from "../../src/server/access/address-list.ts";

const CASES: readonly (readonly [list: string, address: string, isIn: boolean])[] = [
  ["192.0.2.1", "192.0.2.1", true],
  ["192.0.2.1", "192.0.2.2", false],
  ["192.0.2.1", "192.0.2.10", false],
  ["192.0.2.0/24", "192.0.2.255", true],
  ["192.0.2.0/24", "192.0.3.0", false],
  ["192.0.2.0/24", "::ffff:192.0.2.7", true],
  ["0.0.0.0/0", "203.0.113.9", true],
  ["0.0.0.0/0", "2001:db8::1", false],
  ["::/0", "2001:db8::1", true],
  ["::/0", "192.0.2.1", false],
  ["2001:db8::/32", "2001:db8:ffff::1", true],
  ["2001:db8::/32", "2001:db9::1", false],
  ["2001:DB8::1", "2001:db8:0:0::1", true],
  ["fe80::/10", "fe80::1%eth0", true],
  ["::ffff:192.0.2.1", "192.0.2.1", true],
  ["::ffff:192.0.2.0/120", "192.0.2.9", true],
  ["10.0.0.0/8, 192.0.2.1", "192.0.2.1", true],
  ["10.0.0.0/8", "", false],
  ["10.0.0.0/8", "unknown", false],
];

for (const [list, address, expected] of CASES)
  test(`"${address}" is ${expected ? "" : "not "}in ${list}`, () => {
    const isIn = openAddressList(list.split(", "));
    assert.equal(isIn(address), expected);
  });

test("what is no address, no range, or has host bits is said to be so", () => {
  for (const text of [
    "",
    "1.2.3",
    "0x7f.1",
    "1.2.3.4/33",
    "1.2.3.4/24",
    "::1/129",
    "2001:db8::1/32",
    "1.2.3.0/24/1",
    "1.2.3.4/",
    "fe80::1%eth0",
    "example.org",
    " 1.2.3.4",
  ])
    assert.equal(typeof readRange(text), "string", text);
  assert.match(String(readRange("192.0.2.7/24")), /192\.0\.2\.0\/24/);
});
