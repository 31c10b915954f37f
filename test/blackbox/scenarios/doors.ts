import assert from "node:assert/strict";
import {
  executionId,
  readExecution,
  type CallRow,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD } from "../service.ts";
import { call, nextUrl } from "./leg.ts";

const from = (address: string) => ({ "x-forwarded-for": address });

function refused(name: string, webhook: string, address: string): CallRow {
  return {
    name,
    covers: ["D3.1 addresses"],
    webhook,
    headers: from(address),
    expect: { status: 403, body: { problem: { type: "urn:flowhook:error:address_not_allowed" } } },
  };
}

function method(name: string, status: number): CallRow {
  return {
    name: `${name} of a webhook that takes POST and GET`,
    covers: ["D3.1 methods"],
    webhook: "methods",
    method: name,
    path: "?async",
    expect: { status, headers: status === 405 ? { allow: "POST, GET" } : {} },
  };
}

const STORIES: StoryRow[] = [
  {
    name: "any method re-enters, and an address is looked at on legs too",
    covers: ["D3.1 methods", "D3.1 addresses"],
    async run(service) {
      const first = await call(service, "post", "", { method: "POST" });
      assert.equal(first.status, 303);
      const { search } = nextUrl(service, first);
      assert.equal((await call(service, "post", search)).status, 200);
      const inside = await call(service, "office", "", { headers: from("192.0.2.9") });
      const leg = nextUrl(service, inside).search;
      assert.equal(
        (await call(service, "office", leg, { headers: from("192.0.2.8") })).status,
        200,
      );
      assert.equal(
        (await call(service, "office", leg, { headers: from("192.0.3.9") })).status,
        403,
      );
    },
  },
  {
    name: "the record and the flow have the address that the proxies give",
    covers: ["D3.1 address"],
    async run(service) {
      const answer = await call(service, "identity", "", {
        headers: from("203.0.113.7, 2001:db8::5"),
      });
      const record = await readExecution(service, executionId(answer));
      assert.equal(record["address"], "2001:db8::5");
      const result = await call(service, "identity", nextUrl(service, answer).search);
      assert.equal((JSON.parse(result.text) as { address: string }).address, "2001:db8::5");
    },
  },
  {
    name: "addresses change only with the password; what is none is refused and named",
    covers: ["D3.1 addresses"],
    async run(service) {
      const patched = await service.api("PATCH", "/webhook/post", { allowed_addresses: [] });
      assert.equal(patched.status, 403);
      const put = (allowed_addresses: unknown) =>
        service.api("PUT", "/webhook/post/authentication", {
          password: ADMIN_PASSWORD,
          allowed_addresses,
        });
      const wrong = await put(["10.0.0.0/8", "10.0.0.1/8"]);
      assert.equal(wrong.status, 422);
      assert.match(wrong.text, /allowed_addresses\.1: has host bits .*, found \\?"/);
      assert.equal((await put(Array(101).fill("10.0.0.1"))).status, 422);
      for (const members of [
        { methods: [] },
        { methods: ["TRACE"] },
        { methods: ["GET", "GET"] },
        { max_body_bytes: 0 },
        { max_body_bytes: 10_485_761 },
      ])
        assert.equal((await service.api("PATCH", "/webhook/post", members)).status, 422);
    },
  },
];

const KEY = "blackbox-canary-key-of-doors";

export const DOORS: Group = {
  name: "doors",
  flows: ["echo", "identity"],
  config: { TRUSTED_PROXIES: ["127.0.0.1"] },
  webhooks: {
    office: { flow: "echo", allowed_addresses: ["192.0.2.0/24", "2001:db8::/32"] },
    "office-keyed": {
      flow: "echo",
      key: KEY,
      allowed_addresses: ["192.0.2.1"],
    },
    methods: { flow: "echo", methods: ["POST", "GET"] },
    post: { flow: "echo", methods: ["POST"] },
    small: { flow: "echo", max_body_bytes: 10 },
    "small-keyed": { flow: "echo", max_body_bytes: 10, key: KEY },
    identity: { flow: "identity" },
  },
  rows: [
    refused("an address that is not in the list", "office", "192.0.3.1"),
    refused("an address of IPv6 that is not in the list", "office", "2001:db9::1"),
    refused("the address is looked at before the key", "office-keyed", "192.0.2.2"),
    {
      name: "an address in the list",
      covers: ["D3.1 addresses"],
      webhook: "office",
      headers: from("2001:db8::1"),
      path: "?async",
      expect: { status: 201 },
    },
    method("POST", 201),
    method("GET", 201),
    method("HEAD", 405),
    method("DELETE", 405),
    {
      name: "a body of as many bytes as the webhook takes",
      covers: ["D3.1 sizes"],
      webhook: "small",
      path: "?async",
      headers: { "content-type": "application/json" },
      body: '{"a":"bcd"}'.slice(0, 8) + '"}',
      expect: { status: 201 },
    },
    {
      name: "a body of one more",
      covers: ["D3.1 sizes"],
      webhook: "small",
      path: "?async",
      headers: { "content-type": "application/json" },
      body: '{"a":"bcd"}',
      expect: { status: 413 },
    },
    {
      name: "a body of one more, read early because it may carry the key",
      covers: ["D3.1 sizes"],
      webhook: "small-keyed",
      path: "?async",
      headers: { "content-type": "application/json", authorization: `Bearer ${KEY}` },
      body: '{"a":"bcd"}',
      expect: { status: 413 },
    },
    ...STORIES,
  ],
};

const WARNING = /has X-Forwarded-For, and TRUSTED_PROXIES is empty/g;

/** Without proxies that are trusted. */
export const DIRECT: Group = {
  name: "doors without proxies",
  flows: ["echo"],
  webhooks: {
    inside: { flow: "echo", allowed_addresses: ["127.0.0.0/8"] },
    outside: { flow: "echo", allowed_addresses: ["192.0.2.1"] },
    open: { flow: "echo" },
  },
  rows: [
    {
      name: "the log warns once for each webhook with addresses that a proxy calls",
      covers: ["D3.1 addresses"],
      async run(service) {
        const headers = from("192.0.2.1");
        await call(service, "open", "?async", { headers });
        await call(service, "inside", "?async");
        assert.doesNotMatch(service.logs(), WARNING);
        for (const status of [201, 201])
          assert.equal((await call(service, "inside", "?async", { headers })).status, status);
        for (const status of [403, 403])
          assert.equal((await call(service, "outside", "?async", { headers })).status, status);
        await service.assertAlive();
        assert.equal(service.logs().match(WARNING)?.length, 2);
      },
    },
  ],
};
