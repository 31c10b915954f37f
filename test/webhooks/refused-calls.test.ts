import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import { openOwnRefusals, type RefusedCall } from "../../src/server/request/refused-calls.ts";
import type { WebhookRow } from "../../src/server/store/webhooks.ts";
import type { Call } from "../../src/server/webhooks/call.ts";
import { toRefusedCall } from "../../src/server/webhooks/refused-call.ts";

function refused(request_id: string): RefusedCall {
  const words = { at: 1, code: "not_found", reason: "r", status: 404, method: "GET", path: "/" };
  return { ...words, address: "a", request_id, headers: {}, body_bytes: null, body_sha256: null };
}

const ids = (list: readonly RefusedCall[]) => list.map(({ request_id }) => request_id);

test("the newest 100 of each webhook are kept, the newest first", async () => {
  const refusals = openOwnRefusals();
  for (let n = 1; n <= 105; n += 1) refusals.add("w", refused(String(n)));
  refusals.add("v", refused("other"));
  const kept = ids(await refusals.list("w"));
  assert.deepEqual([kept.length, kept[0], kept.at(-1)], [100, "105", "6"]);
  assert.deepEqual(ids(await refusals.list("v")), ["other"]);
  assert.deepEqual(await refusals.list("nobody"), []);
});

test("of all webhooks together the oldest are forgotten", async () => {
  const refusals = openOwnRefusals(3);
  for (const [webhook, id] of [
    ["a", "1"],
    ["b", "2"],
    ["a", "3"],
    ["c", "4"],
    ["c", "5"],
  ] as const)
    refusals.add(webhook, refused(id));
  assert.deepEqual(
    [ids(await refusals.list("a")), ids(await refusals.list("b")), ids(await refusals.list("c"))],
    [["3"], [], ["5", "4"]],
  );
});

for (const header of ["authorization", "proxy-authorization", "cookie", "x-service-token"])
  test(`${header} is hidden also where the scheme has its signature there`, () => {
    const incoming = new IncomingMessage(new Socket());
    incoming.headers = { [header]: "Basic dXNlcjpwYXNzd29yZA==", "x-time": "1" };
    const timestamp = { header: "x-time", unit: "s" };
    const custom = { algorithm: "hmac-sha256", header, timestamp, id_header: null };
    const webhook = { signature: JSON.stringify({ scheme: "custom", custom }) } as WebhookRow;
    const sent = { incoming, query: new URLSearchParams(), secrets: [], body: null };
    const call = { ...sent, method: "GET", address: "a", request_id: "r" } as unknown as Call;
    const words = { code: "not_authenticated", reason: "signature_wrong", status: 401 } as const;
    assert.deepEqual(
      { ...toRefusedCall(call, webhook, words).headers },
      { [header]: "…", "x-time": "1" },
    );
  });
