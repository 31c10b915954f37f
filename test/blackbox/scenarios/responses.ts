import assert from "node:assert/strict";
import { Agent } from "node:http";
import { send } from "../client.ts";
import { callTarget, endedExecution, executionId, type Group, type StoryRow } from "../scenario.ts";
import { answering, PLAIN, response } from "./answering.ts";
import {
  BIG_ROWS,
  CAUGHT_ROWS,
  HEADER_ROWS,
  LEFT_OUT_ROWS,
  MORE_ODD_ROWS,
  ODD_ROWS,
  OUTPUT_LIMIT,
  STATUS_ROWS,
} from "./responses-hostile.ts";
import { DEFAULT_ROWS, GOOD_ROWS, PAGE_ROWS, WEB_ROWS } from "./responses-valid.ts";

const STORY_ROWS: StoryRow[] = [
  {
    name: "a connection is reused after every kind of answer",
    covers: ["C11 survives", "C10 bodiless", "C11 connection"],
    async run(service) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const steps = [
        response(204, PLAIN),
        response(205, PLAIN),
        response(304, PLAIN),
        response(200, { "content-length": "3", connection: "close" }),
        response(null),
        response(200, { "x-a": "a\r\nb" }),
        response(200, { "transfer-encoding": "chunked" }),
      ];
      try {
        for (const step of steps) {
          const answer = await send(service.origin, {
            method: "POST",
            target: callTarget(service, "answer"),
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ steps: [step] }),
            agent,
          });
          assert.ok(answer.status >= 200, answer.text);
          const health = await send(service.origin, { target: "/health/live", agent });
          assert.equal(health.status, 200, `after ${JSON.stringify(step)}`);
        }
      } finally {
        agent.destroy();
      }
    },
  },
  {
    name: "HEAD has the headers of a custom response and no body",
    covers: ["C10 HEAD"],
    async run(service) {
      const answer = await send(service.origin, {
        method: "HEAD",
        target: callTarget(service, "big", "?as=response&bytes=10"),
      });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers["content-type"], "text/plain");
      assert.equal(answer.text, "");
      assert.equal((await endedExecution(service, executionId(answer)))["status"], "ENDED_SUCCESS");
      const target = callTarget(service, "web");
      const web = await send(service.origin, { method: "HEAD", target });
      assert.equal(web.status, 202);
      assert.equal(web.headers["x-from"], "web");
      assert.equal(
        web.headers["content-length"],
        undefined,
        "the length that GET has is not known",
      );
    },
  },
  {
    name: "the default stylesheet",
    covers: ["4.7 stylesheet"],
    async run(service) {
      const answer = await send(service.origin, { target: "/default-styling.css" });
      assert.equal(answer.status, 200);
      assert.match(answer.headers["content-type"] ?? "", /^text\/css/);
      assert.match(answer.text, /\{[^}]*:[^}]*\}/);
    },
  },
];

const FLOWS = ["answer", "odd", "big", "web"];
const WEBHOOKS = Object.fromEntries(FLOWS.map((flow) => [flow, { flow }]));

export const RESPONSES: Group = {
  name: "responses",
  config: { SYNC_MODE: "hold", MAX_OUTPUT_BYTES: OUTPUT_LIMIT },
  flows: FLOWS,
  webhooks: WEBHOOKS,
  rows: [
    ...GOOD_ROWS,
    ...DEFAULT_ROWS,
    ...STATUS_ROWS,
    ...HEADER_ROWS,
    ...CAUGHT_ROWS,
    ...LEFT_OUT_ROWS,
    ...PAGE_ROWS,
    ...ODD_ROWS,
    ...MORE_ODD_ROWS,
    ...BIG_ROWS,
    ...WEB_ROWS,
    ...STORY_ROWS,
  ],
};

export const NO_RESPONSE_SANDBOX: Group = {
  name: "responses without the sandbox",
  config: { SYNC_MODE: "hold", RESPONSE_SANDBOX: false },
  flows: ["answer"],
  webhooks: { answer: { flow: "answer" } },
  rows: [
    answering("a page is not sandboxed", ["C13 off"], [{ webhook_html_response: "<p>" }], {
      status: 200,
      headers: { "content-security-policy": null },
    }),
    answering(
      "headers that act on the whole origin are the flow's own",
      ["C13 off", "C11 origin"],
      [response(200, { "Strict-Transport-Security": "max-age=1", "Clear-Site-Data": '"cache"' })],
      {
        status: 200,
        headers: { "strict-transport-security": "max-age=1", "clear-site-data": '"cache"' },
      },
    ),
    answering("an error is not sandboxed", ["C13 off"], [{ fail: "<p>" }], {
      status: 500,
      headers: { "content-security-policy": null, "x-content-type-options": "nosniff" },
    }),
    answering(
      "H1: cookies of the whole origin are the flow's own",
      ["C13 off", "C11 unaltered"],
      [response(200, { "Set-Cookie": "mine=1; Path=/; Domain=service.test" })],
      { status: 200, headers: { "set-cookie": "mine=1; Path=/; Domain=service.test" } },
    ),
  ],
};
