import assert from "node:assert/strict";
import { send } from "../client.ts";
import { callTarget, executionId, type Group } from "../scenario.ts";

const KEY = "blackbox-canary-key-of-hold";

export const HOLD: Group = {
  name: "hold",
  config: { SYNC_MODE: "hold" },
  flows: ["echo", "sleep", "answer"],
  webhooks: {
    echo: { flow: "echo" },
    sleep: { flow: "sleep" },
    answer: { flow: "answer" },
    keyed: { flow: "echo", key: KEY },
    redirecting: { flow: "echo", sync_mode: "redirect" },
  },
  rows: [
    {
      name: "a held call is one request",
      covers: ["4.4 rule 1", "4.4 rule 2", "C12 id", "C12 no-store"],
      webhook: "echo",
      path: "/p?async=0&q=1",
      body: { a: 1 },
      expect: {
        status: 200,
        chain: [200],
        headers: {
          "content-type": "application/json; charset=utf-8",
          "flowhook-execution-id": /^[0-9a-f-]{36}$/,
          "cache-control": "no-store",
        },
        input: { method: "POST", path: "p", query: { async: "0", q: "1" }, json: { a: 1 } },
        execution: { status: "ENDED_SUCCESS", is_async: false },
      },
    },
    {
      name: "a held call waits for a flow that takes its time",
      covers: ["4.4 rule 1"],
      webhook: "sleep",
      path: "?ms=200",
      expect: { status: 200, chain: [200], body: { json: { slept: 200 } } },
    },
    {
      name: "a held call of a failing flow",
      covers: ["4.4 rule 3", "7 execution 500"],
      webhook: "answer",
      body: { steps: [{ fail: "broken" }] },
      expect: {
        status: 500,
        chain: [500],
        headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
        body: { text: "ENDED_ERROR: broken" },
      },
    },
    {
      name: "a held call with a key",
      covers: ["5.2 header"],
      webhook: "keyed",
      headers: { authorization: `Bearer ${KEY}` },
      expect: { status: 200, chain: [200], input: { headers: { authorization: null } } },
      forbid: [KEY],
    },
    {
      name: "HEAD is held and answers without a body",
      covers: ["C10 HEAD"],
      webhook: "echo",
      method: "HEAD",
      expect: { status: 200, chain: [200], body: { text: "" }, input: { method: "HEAD" } },
    },
    {
      name: "an asynchronous call is not held",
      covers: ["4.5 status"],
      webhook: "sleep",
      path: "?async&ms=100",
      expect: { status: 201, chain: [201] },
    },
    {
      name: "a webhook can redirect where others hold",
      covers: ["4.4 initial"],
      webhook: "redirecting",
      expect: { status: 200, chain: [303, 200] },
    },
    {
      name: "the result stays readable under the execution's id",
      covers: ["C8 async id", "C8 repeatable"],
      async run(service) {
        const first = await send(service.origin, { target: callTarget(service, "echo", "/x") });
        const path = `?__wait_execution_id=${executionId(first)}`;
        for (let round = 0; round < 2; round += 1) {
          const again = await send(service.origin, { target: callTarget(service, "echo", path) });
          assert.equal(again.status, 200, again.text);
          assert.equal(again.text, first.text);
        }
      },
    },
  ],
};
