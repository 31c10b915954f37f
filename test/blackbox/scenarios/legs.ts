import assert from "node:assert/strict";
import { follow, send } from "../client.ts";
import { openGates } from "../gates.ts";
import {
  callTarget,
  endedExecution,
  executionId,
  readExecution,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { BETWEEN_LEGS } from "./cancel.ts";
import { call, nextUrl } from "./leg.ts";

/** The Location of the first leg for a path, and the URL that it must lead back to. */
function locationRow(path: string, location: RegExp): StoryRow {
  return {
    name: `the redirect of "${path}"`,
    covers: ["4.4 initial", "7 first leg 303", "C8 relative", "C8 query"],
    async run(service) {
      const answer = await call(service, "echo", path);
      assert.equal(answer.status, 303, answer.text);
      assert.match(answer.headers["location"] ?? "", location);
      const asked = new URL(`http://x${answer.target}`);
      const next = nextUrl(service, answer);
      assert.equal(next.pathname, asked.pathname, "the same URL");
      const id = executionId(answer);
      const query = [...next.searchParams].filter(([name]) => name !== "__wait_execution_id");
      assert.deepEqual(query, [...asked.searchParams], "the same query");
      assert.deepEqual(next.searchParams.getAll("__wait_execution_id"), [id]);
      assert.equal(answer.headers["cache-control"], "no-store");
    },
  };
}

const FIRST_LEG: StoryRow[] = [
  locationRow("", /^\.\/call\?__wait_execution_id=[0-9a-f-]{36}$/),
  locationRow("/", /^\.\/\?__wait_execution_id=/),
  locationRow("/a/b%2Fc", /^\.\/b%2Fc\?/),
  locationRow("/a/b/", /^\.\/\?/),
  locationRow("/mailto:x", /^\.\/mailto:x\?/),
  locationRow(
    "?x=1&y=a%20b&x=2&flag",
    /^\.\/call\?x=1&y=a(%20|\+)b&x=2&flag(=)?&__wait_execution_id=/,
  ),
  locationRow("/%E2%82%AC?%C3%A4=%26", /^\.\/%E2%82%AC\?/),
  {
    name: "the 303 has a short text for people",
    covers: ["C8 text", "4.4 no follow"],
    async run(service) {
      const answer = await call(service, "echo", "", { method: "POST" });
      assert.equal(answer.status, 303);
      assert.match(answer.headers["content-type"] ?? "", /^text\/plain/);
      assert.match(answer.text, /-L/);
      assert.match(answer.text, /async/);
      assert.ok(answer.text.length < 500);
    },
  },
  {
    name: "the text of the 303 tells how to get the id at once",
    covers: ["C8 text"],
    async run(service) {
      for (const [query, hint] of [
        ["", "add ?async to the URL"],
        ["?a=1", "add &async to the URL"],
        ["?async=0&a=1", "set async=1 in the URL"],
      ] as const) {
        const answer = await call(service, "echo", query, { method: "POST" });
        assert.equal(answer.status, 303);
        assert.ok(answer.text.includes(`or ${hint} to get its id`), answer.text);
      }
    },
  },
];

const WAITING: StoryRow[] = [
  {
    name: "an unfinished execution answers 302 after the window, and its result at the end",
    covers: [
      "4.4 re-entry",
      "4.4 final",
      "7 window 302",
      "8 poll window",
      "8 read time-out",
      "4.4 total",
      "C12 id",
    ],
    async run(service) {
      await using gates = await openGates();
      const first = await call(service, "gate", `?${gates.query("g")}`);
      assert.equal(first.status, 303);
      await gates.arrived("g");
      const started = performance.now();
      const target = nextUrl(service, first).pathname + nextUrl(service, first).search;
      const second = await send(service.origin, { target });
      const waited = performance.now() - started;
      assert.equal(second.status, 302, second.text);
      assert.ok(waited > 900 && waited < 10_000, `waited ${waited} ms in a window of 1 s`);
      assert.equal(executionId(second), executionId(first));
      assert.equal(second.headers["cache-control"], "no-store");
      assert.equal(nextUrl(service, second).href, nextUrl(service, first).href, "the same URL");
      const last = follow(service.origin, { target });
      gates.open("g");
      const answer = await last;
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.text, '{"gate":"g"}');
      assert.equal(executionId(answer), executionId(first));
    },
  },
  {
    name: "a failed execution answers 500 on the final leg",
    covers: ["4.4 rule 3", "7 execution 500", "C12 no-store", "C12 id"],
    async run(service) {
      const target = callTarget(service, "answer");
      const answer = await follow(service.origin, {
        method: "PUT",
        target,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ steps: [{ fail: "no such order" }] }),
      });
      assert.equal(answer.status, 500);
      assert.equal(answer.headers["content-type"], "text/plain; charset=utf-8");
      assert.equal(answer.text, "ENDED_ERROR: no such order");
      assert.equal(answer.headers["cache-control"], "no-store");
      assert.equal((await readExecution(service, executionId(answer)))["status"], "ENDED_ERROR");
    },
  },
];

const WAIT_ENDPOINTS: StoryRow[] = [
  {
    name: "/execution/{id}/wait redirects to itself until the execution has ended",
    covers: ["4.4 wait endpoint"],
    async run(service) {
      await using gates = await openGates();
      const started = await call(service, "gate", `?async&${gates.query("w")}`);
      await gates.arrived("w");
      const target = `${service.prefix}/api/latest/execution/${started.text}/wait`;
      const headers = { "x-service-token": service.token() };
      const leg = await send(service.origin, { target, headers });
      assert.equal(leg.status, 302, leg.text);
      assert.equal(nextUrl(service, leg).pathname, target);
      const last = follow(service.origin, { target, headers });
      gates.open("w");
      const answer = await last;
      assert.equal(answer.status, 200);
      assert.equal((JSON.parse(answer.text) as { status: string }).status, "ENDED_SUCCESS");
    },
  },
  {
    name: "/{type}/{id}/wait-operation answers with the resource when nothing is in progress",
    covers: ["4.4 wait-operation"],
    async run(service) {
      const started = await call(service, "echo", "?async");
      const ended = await endedExecution(service, started.text);
      const answer = await service.api("GET", `/execution/${started.text}/wait-operation`);
      assert.equal(answer.status, 200, answer.text);
      assert.equal((answer.body as { id: string }).id, ended["id"]);
    },
  },
];

export const LEGS: Group = {
  name: "legs",
  config: { WAIT_POLL_WINDOW_SEC: 1 },
  flows: ["echo", "gate", "answer"],
  webhooks: {
    echo: { flow: "echo" },
    gate: { flow: "gate" },
    answer: { flow: "answer" },
  },
  rows: [...FIRST_LEG, ...WAITING, BETWEEN_LEGS, ...WAIT_ENDPOINTS],
};
