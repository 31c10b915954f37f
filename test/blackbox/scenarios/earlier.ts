import assert from "node:assert/strict";
import { send } from "../client.ts";
import { openGates } from "../gates.ts";
import {
  callTarget,
  endedExecution,
  executionId,
  type CallRow,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import type { Service } from "../service.ts";

const KEY = "blackbox-canary-key-of-earlier";
const BEARER = { authorization: `Bearer ${KEY}` };
const JSON_TYPE = {
  "content-type": /^application\/json/,
  "x-content-type-options": "nosniff",
};

const TEXT_ROWS: CallRow[] = [
  {
    name: "no key, synchronous, success",
    covers: ["4.6 no key, sync", "C17 text"],
    webhook: "open",
    body: { steps: [{ status_message: "all good" }], output: { not: "shown" } },
    expect: {
      status: 200,
      chain: [200],
      headers: JSON_TYPE,
      body: { json: "ENDED_SUCCESS: all good" },
      execution: { output_value: { not: "shown" } },
    },
    forbid: ["shown"],
  },
  {
    name: "no key, synchronous, without a status message",
    covers: ["4.6 no key, sync", "C17 text"],
    webhook: "open",
    expect: { status: 200, headers: JSON_TYPE, body: { json: "ENDED_SUCCESS: " } },
  },
  {
    name: "no key, synchronous, failure",
    covers: ["4.6 no key, sync", "C17 text"],
    webhook: "open",
    body: { steps: [{ fail: "no stock" }] },
    expect: {
      status: 500,
      chain: [500],
      headers: JSON_TYPE,
      body: { json: "ENDED_ERROR: no stock" },
    },
  },
  {
    name: "no key, async=0",
    covers: ["4.6 async=0"],
    webhook: "open",
    path: "?async=0",
    expect: { status: 200, body: { json: "ENDED_SUCCESS: " }, execution: { is_async: false } },
  },
  ...["?async=1", "?async"].map((path): CallRow => ({
    name: `no key, ${path}`,
    covers: ["4.6 no key, async"],
    webhook: "open",
    path,
    expect: { status: 200, body: { text: "" }, execution: { is_async: true } },
  })),
  {
    name: "a custom response wins",
    covers: ["C17 custom wins"],
    webhook: "open",
    body: {
      steps: [{ webhook_response: { status: 202, headers: { "x-a": "b" }, body: "custom" } }],
    },
    expect: { status: 202, headers: { "x-a": "b" }, body: { text: "custom" } },
  },
  {
    name: "a custom response wins with a key too",
    covers: ["C17 custom wins"],
    webhook: "keyed",
    headers: BEARER,
    body: { steps: [{ webhook_json_response: { custom: true } }] },
    expect: { status: 200, body: { json: { custom: true } } },
    forbid: [KEY],
  },
];

/** A call of the webhook with a key, and the record that is its answer. */
async function recordOf(
  service: Service,
  path: string,
  body: object,
  webhook = "keyed",
): Promise<Record<string, unknown>> {
  const answer = await send(service.origin, {
    method: "POST",
    target: callTarget(service, webhook, path),
    headers: { ...BEARER, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(answer.status, 200, answer.text);
  assert.match(answer.headers["content-type"] ?? "", /^application\/json/);
  assert.ok(!answer.text.includes(KEY));
  const record = JSON.parse(answer.text) as Record<string, unknown>;
  assert.equal(record["id"], executionId(answer));
  return record;
}

const MEMBERS = [
  "id",
  "status",
  "status_message",
  "webhook",
  "flow",
  "flow_version",
  "is_productive",
  "is_async",
  "project_id",
  "role",
  "created_by",
  "parent_id",
  "replay_of",
  "created_at",
  "started_at",
  "ended_at",
  "input_value",
  "output_value",
  "response",
];

const RECORD_ROWS: StoryRow[] = [
  {
    name: "key, synchronous, success: the entire record",
    covers: ["4.6 key, sync"],
    async run(service) {
      const record = await recordOf(service, "", { steps: [{ status_message: "m" }], output: [1] });
      assert.equal(record["status"], "ENDED_SUCCESS");
      assert.equal(record["status_message"], "m");
      assert.deepEqual(record["output_value"], [1]);
      const stored = await endedExecution(service, String(record["id"]));
      // What the releases before the redirect legs had: a caller may know these and no others.
      assert.deepEqual(Object.keys(record), MEMBERS);
      for (const name of MEMBERS)
        assert.deepEqual(record[name], (stored as Record<string, unknown>)[name], name);
    },
  },
  {
    name: "key, synchronous, failure: 200 and the entire record",
    covers: ["4.6 key, sync"],
    async run(service) {
      const record = await recordOf(service, "?async=0", { steps: [{ fail: "no stock" }] });
      assert.equal(record["status"], "ENDED_ERROR");
      assert.equal(record["status_message"], "no stock");
    },
  },
  {
    name: "key, asynchronous: the record at start",
    covers: ["4.6 key, async"],
    async run(service) {
      await using gates = await openGates();
      const path = `?async=1&${gates.query("start")}`;
      const record = await recordOf(service, path, {}, "gate");
      assert.match(String(record["status"]), /^(RUNNING|PENDING)$/);
      assert.equal(record["is_async"], true);
      await gates.arrived("start");
      gates.open("start");
      const ended = await endedExecution(service, String(record["id"]));
      assert.deepEqual(ended["output_value"], { gate: "start" });
    },
  },
];

export const EARLIER: Group = {
  name: "earlier matrix",
  config: { RESPONSE_MATRIX: "earlier" },
  flows: ["answer", "gate"],
  webhooks: {
    open: { flow: "answer" },
    keyed: { flow: "answer", key: KEY },
    gate: { flow: "gate", key: KEY },
  },
  rows: [
    ...TEXT_ROWS,
    ...RECORD_ROWS,
    {
      name: "the key is asked for as ever",
      covers: ["5.2 rule 1"],
      webhook: "keyed",
      expect: { status: 401, body: { text: '"401 Unauthorized"' }, execution: "none" },
    },
  ],
};
