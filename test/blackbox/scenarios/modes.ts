import assert from "node:assert/strict";
import { openGates } from "../gates.ts";
import {
  endedExecution,
  executionId,
  readExecution,
  type CallRow,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { call, nextUrl } from "./leg.ts";

const KEY = "blackbox-canary-key-of-modes";
const LEG = /^\.\/call\?(?:.*&)?__wait_execution_id=[0-9a-f-]{36}$/;

/** Who decides: the query, then Prefer, then the webhook. */
function decided(
  name: string,
  webhook: string,
  path: string,
  prefer: string | null,
  status: number,
  applied: string | null,
): CallRow {
  return {
    name,
    covers: ["D5.1 default_mode", "D5.1 Prefer"],
    webhook,
    path,
    ...(prefer === null ? {} : { headers: { prefer } }),
    follow: false,
    expect: {
      status,
      headers: { "preference-applied": applied },
      execution: { is_async: status === 201 },
    },
  };
}

const DECIDED: CallRow[] = [
  decided("an asynchronous webhook", "async", "", null, 201, null),
  decided("an asynchronous webhook, async=0", "async", "?async=0", null, 303, null),
  decided("a synchronous webhook, async", "echo", "?async", null, 201, null),
  decided("Prefer: respond-async", "echo", "", "respond-async", 201, "respond-async"),
  decided(
    "Prefer in any case, with parameters",
    "echo",
    "",
    "a, Respond-Async;x=1",
    201,
    "respond-async",
  ),
  decided("the query wins over respond-async", "echo", "?async=0", "respond-async", 303, null),
  decided("the query wins over wait", "echo", "?async", "wait=5", 201, null),
  // Long enough for a flow that starts slowly: it is the mode that is looked at.
  decided("a wait makes an asynchronous webhook wait", "async", "", "wait=60", 200, "wait=60"),
  decided("a wait in quotes", "echo", "", 'wait="60"', 200, "wait=60"),
  decided("a wait beside async=0", "echo", "?async=0", "wait=60", 200, "wait=60"),
  decided("a wait of a held webhook", "held", "", "wait=300", 200, "wait=300"),
  decided("a wait of nothing", "echo", "", "wait=0", 303, null),
  decided("a wait that is too long", "echo", "", "wait=301", 303, null),
  decided("a wait that is no number", "async", "", "wait=5s", 201, null),
  decided("another preference", "echo", "", "return=minimal", 303, null),
];

function status(webhook: string, code: number, body: RegExp): StoryRow {
  return {
    name: `async_status ${code}`,
    covers: ["D5.1 async_status", "D5.1 Location"],
    async run(service) {
      const answer = await call(service, webhook, "?async", { method: "POST" });
      assert.equal(answer.status, code);
      assert.match(answer.text, body);
      assert.match(answer.headers["location"] ?? "", LEG);
      assert.equal(
        answer.headers["content-type"],
        code === 204 ? undefined : "text/plain; charset=utf-8",
      );
      assert.equal(answer.headers["cache-control"], "no-store");
      await endedExecution(service, executionId(answer));
      const result = await call(service, webhook, nextUrl(service, answer).search);
      assert.equal(result.status, 200, result.text);
    },
  };
}

const WAITS: StoryRow[] = [
  {
    name: "a wait that is over leads to the first leg, in both modes",
    covers: ["D5.1 Prefer"],
    async run(service) {
      await using gates = await openGates();
      for (const [webhook, prefer, code] of [
        ["gate", "wait=1", 303],
        ["gate-held", "wait=1", 303],
        ["gate", "respond-async, wait=1", 201],
      ] as const) {
        const name = `${webhook}-${code}`;
        const answer = await call(service, webhook, `?${gates.query(name)}`, {
          headers: { prefer },
        });
        assert.equal(answer.status, code, answer.text);
        assert.equal(answer.headers["preference-applied"], prefer);
        gates.open(name);
        const { search } = nextUrl(service, answer);
        const result = await call(service, webhook, search);
        assert.equal(result.text, JSON.stringify({ gate: name }));
      }
    },
  },
  {
    name: "who goes while an asynchronous call waits cancels nothing",
    covers: ["D5.1 Prefer"],
    async run(service) {
      await using gates = await openGates();
      const leaving = new AbortController();
      const headers = { prefer: "respond-async, wait=60" };
      const path = `?${gates.query("left")}`;
      const answer = call(service, "gate", path, { headers, signal: leaving.signal });
      const failed = assert.rejects(answer);
      await gates.arrived("left");
      leaving.abort();
      await failed;
      const { body } = await service.api("GET", "/execution?webhook=gate&limit=1");
      const id = (body as { items: { id: string }[] }).items[0]?.id ?? "";
      assert.equal((await readExecution(service, id))["status"], "RUNNING");
      gates.open("left");
      assert.equal((await endedExecution(service, id))["status"], "ENDED_SUCCESS");
    },
  },
  {
    name: "the Location of an asynchronous answer is signed where a key admitted",
    covers: ["D5.1 Location", "C8 signature"],
    async run(service) {
      const headers = { authorization: `Bearer ${KEY}` };
      const answer = await call(service, "keyed", "?async&x=1", { headers });
      assert.equal(answer.status, 201);
      const { search } = nextUrl(service, answer);
      assert.match(search, /^\?async&x=1&__wait_execution_id=[0-9a-f-]{36}\.[\w-]{43}$/);
      assert.equal((await call(service, "keyed", search)).status, 200);
      const unsigned = search.replace(/\.[\w-]{43}$/, "");
      assert.equal((await call(service, "keyed", unsigned)).status, 401);
    },
  },
];

const SLEEP_MODES = { default_mode: "async", async_status: 202 } as const;

export const MODES: Group = {
  name: "modes",
  flows: ["echo", "gate"],
  config: { WAIT_POLL_WINDOW_SEC: 20 },
  webhooks: {
    echo: { flow: "echo" },
    held: { flow: "echo", sync_mode: "hold" },
    async: { flow: "echo", default_mode: "async" },
    s200: { flow: "echo", async_status: 200 },
    s202: { flow: "echo", ...SLEEP_MODES },
    s204: { flow: "echo", async_status: 204 },
    gate: { flow: "gate" },
    "gate-held": { flow: "gate", sync_mode: "hold" },
    keyed: { flow: "echo", key: KEY },
  },
  rows: [
    ...DECIDED,
    status("echo", 201, /^[0-9a-f-]{36}$/),
    status("s200", 200, /^[0-9a-f-]{36}$/),
    status("s202", 202, /^[0-9a-f-]{36}$/),
    status("s204", 204, /^$/),
    ...WAITS,
  ],
};

/** The matrix of earlier releases knows none of it (section 4.6). */
export const EARLIER_MODES: Group = {
  name: "modes of earlier releases",
  flows: ["echo"],
  config: { RESPONSE_MATRIX: "earlier" },
  webhooks: { async: { flow: "echo", default_mode: "async", async_status: 202 } },
  rows: [
    {
      name: "a call is synchronous whatever the webhook and Prefer say",
      covers: ["D5.1 earlier"],
      webhook: "async",
      headers: { prefer: "respond-async" },
      expect: {
        status: 200,
        chain: [200],
        headers: { location: null, "preference-applied": null },
        execution: { is_async: false },
      },
    },
    {
      name: "an asynchronous call is 200 without a Location",
      covers: ["D5.1 earlier"],
      webhook: "async",
      path: "?async",
      expect: { status: 200, headers: { location: null }, body: { text: "" } },
    },
  ],
};
