import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "../../src/server/access/network.ts";

const NETWORKS: readonly [string, string][] = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["", ""],
  ["token of u:1", "token of u:1"],
];

for (const [address, network] of NETWORKS)
  test(`M1: "${address}" counts as "${network}"`, () => {
    assert.equal(networkOf(address), network);
  });
