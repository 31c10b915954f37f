import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import {
  onceForRange,
  openAddressReader,
  openProxyTrust,
} from "../../src/server/access/client-address.ts";

const PROXY = "10.0.0.1";
const isTrusted = openProxyTrust(["10.0.0.0/8", "2001:db8:aaaa::/48", "192.0.2.7"]);

function from(peer: string, forwarded?: string): IncomingMessage {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: peer });
  const incoming = new IncomingMessage(socket);
  if (forwarded !== undefined) incoming.headers["x-forwarded-for"] = forwarded;
  return incoming;
}

const CLIENTS: readonly [name: string, forwarded: string, client: string][] = [
  ["one hop", "203.0.113.9", "203.0.113.9"],
  ["a hop with a port", "203.0.113.9:4711", "203.0.113.9"],
  ["what the caller claims before it", "10.0.0.1, 203.0.113.9:4711", "203.0.113.9"],
  ["a claim of a caller behind a hop with a port", "1.2.3.4, 203.0.113.9:4711", "203.0.113.9"],
  ["an IPv6 hop", "2001:DB8::0001", "2001:db8::1"],
  ["an IPv6 hop in brackets", "[2001:db8::1]", "2001:db8::1"],
  ["an IPv6 hop with a port", "1.2.3.4, [2001:db8::1]:4711", "2001:db8::1"],
  ["an IPv4 hop in IPv6", "::ffff:203.0.113.9", "203.0.113.9"],
  ["trusted proxies behind the client", "203.0.113.9, 10.1.1.1, 10.2.2.2:80", "203.0.113.9"],
  ["trusted proxies alone", "10.3.3.3, 10.1.1.1", "10.3.3.3"],
  ["a last hop that cannot be read", "203.0.113.9, unknown", PROXY],
  ["a hop that cannot be read before a trusted one", "1.2.3.4, unknown, 10.1.1.1", "10.1.1.1"],
  ["a hop that is no whole address", "1.2.3.4, 203.0.113", PROXY],
  ["a hop in another notation", "1.2.3.4, 0x7f000001", PROXY],
  ["a hop with a zone", "1.2.3.4, fe80::1%eth0", "fe80::1"],
  ["a hop with a zone and a port", "1.2.3.4, [fe80::1%eth0.1]:4711", "fe80::1"],
  ["an IPv4 hop in IPv6 with a zone", "::ffff:203.0.113.9%2", "203.0.113.9"],
  ["an IPv4 hop with a zone", "1.2.3.4, 203.0.113.9%eth0", PROXY],
  ["a hop with an empty zone", "1.2.3.4, fe80::1%", PROXY],
  ["a hop with two zones", "1.2.3.4, fe80::1%a%b", PROXY],
  ["a hop in quotes", '1.2.3.4, "203.0.113.9"', PROXY],
  ["an empty hop at the end", "203.0.113.9,", PROXY],
  ["nothing", "", PROXY],
];

for (const [name, forwarded, client] of CLIENTS)
  test(`L1: the client of ${name} is known`, () => {
    const read = openAddressReader(isTrusted);
    assert.equal(read(from(PROXY, forwarded)).address, client);
    assert.equal(read(from(`::ffff:${PROXY}`, forwarded)).address, client);
    assert.equal(read(from("203.0.113.1", forwarded)).address, "203.0.113.1", "nobody is believed");
  });

test("L1: a trusted proxy may be written as an IPv4 address in IPv6", () => {
  for (const written of ["::ffff:10.0.0.1", "::ffff:a00:1", "::ffff:10.0.0.9/104", "10.0.0.9/8"]) {
    const read = openAddressReader(openProxyTrust([written]));
    for (const peer of [PROXY, `::ffff:${PROXY}`])
      assert.equal(read(from(peer, "203.0.113.9")).address, "203.0.113.9", `${written}, ${peer}`);
    assert.equal(read(from("192.0.2.1", "203.0.113.9")).address, "192.0.2.1", written);
  }
});

test("L13: a proxy that is not trusted is told of once for its range", () => {
  const told: string[] = [];
  const read = openAddressReader(
    isTrusted,
    onceForRange((peer) => told.push(peer)),
  );
  for (const peer of ["198.51.100.1", "198.51.100.2", "198.51.101.1", "2001:db8::1", "2001:db8::2"])
    for (const claim of ["1.2.3.4", "5.6.7.8"]) read(from(peer, claim));
  read(from("203.0.113.1"));
  read(from(PROXY, "1.2.3.4"));
  assert.deepEqual(told, ["198.51.100.1", "198.51.101.1", "2001:db8::1"]);
  for (let n = 0; n < 500; n += 1) read(from(`100.64.${n % 250}.1`, "1.2.3.4"));
  assert.equal(told.length, 100, "whoever has many addresses does not fill the log");
});
