import assert from "node:assert/strict";
import { send, type Answer } from "../client.ts";
import { assertProblem } from "../expectation.ts";
import { openGates, type Gates } from "../gates.ts";
import {
  callTarget,
  countExecutions,
  endedExecution,
  executionId,
  poll,
  type Group,
} from "../scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../service.ts";

const KEY = "blackbox-canary-key-of-admission";

function call(
  service: Service,
  webhook: string,
  path = "?async",
  more: object = {},
): Promise<Answer> {
  return send(service.origin, { target: callTarget(service, webhook, path), ...more });
}

/** Once the queue has room: of several nodes, one that was taken stands in it for a moment more. */
function callWithRoom(service: Service, webhook: string, path = "?async"): Promise<Answer> {
  return poll("room in the queue", async () => {
    const answer = await call(service, webhook, path);
    return answer.status === 503 ? null : answer;
  });
}

/** The threads of all nodes but the first: they take what waits there. */
async function occupyOthers(service: Service, gates: Gates): Promise<void> {
  const { body } = await service.api("GET", "/workspace");
  const [, ...others] = (body as { nodes: object[] }).nodes;
  for (const at of others.keys()) {
    const gate = `other-${at}`;
    const taken = await callWithRoom(service, "gate", `?async&${gates.query(gate)}`);
    assert.equal(taken.status, 201, taken.text);
    await gates.arrived(gate);
  }
}

const WRONG_BODY = { method: "POST", headers: { "content-type": "text/plain" }, body: "x" };

/** One thread and one place in the queue. */
export const QUEUE: Group = {
  name: "queue",
  config: {
    WORKER_THREADS: 1,
    FLOW_MAX_CONCURRENT: 1,
    MAX_QUEUED_EXECUTIONS: 1,
    WAIT_POLL_WINDOW_SEC: 1,
  },
  flows: ["gate", "echo"],
  webhooks: { gate: { flow: "gate" }, echo: { flow: "echo" }, keyed: { flow: "echo", key: KEY } },
  rows: [
    {
      name: "beyond the queue's room a call is refused, and let in when there is room again",
      covers: [
        "C1 queue",
        "C1 nothing recorded",
        "C8 not looked at",
        "C8 starts nothing",
        "C12 no-store",
      ],
      async run(service) {
        await using gates = await openGates();
        const running = await call(service, "gate", `?${gates.query("q")}`);
        assert.equal(running.status, 303, running.text);
        await gates.arrived("q");
        await occupyOthers(service, gates);
        const queued = await callWithRoom(service, "echo");
        assert.equal(queued.status, 201, queued.text);
        const record = await service.api("GET", `/execution/${queued.text}`);
        assert.equal((record.body as { status: string }).status, "PENDING");

        const before = await countExecutions(service, "echo");
        const refused = await call(service, "echo");
        assert.equal(refused.status, 503, refused.text);
        assertProblem(refused, { title: "Queue of executions is full" });
        assert.match(refused.headers["retry-after"] ?? "", /^\d+$/);
        assert.equal(refused.headers["cache-control"], "no-store");
        assert.equal(await countExecutions(service, "echo"), before);
        assert.equal((await call(service, "keyed")).status, 401, "the key is asked for before");
        assert.equal(
          (await call(service, "echo", "?async", WRONG_BODY)).status,
          415,
          "and the body",
        );

        const id = executionId(running);
        const leg = await call(service, "gate", `?__wait_execution_id=${id}`);
        assert.equal(leg.status, 302, "a re-entry does not look at the queue");
        gates.open("q");
        assert.equal((await endedExecution(service, queued.text))["status"], "ENDED_SUCCESS");
        const letIn = await callWithRoom(service, "echo");
        assert.equal(letIn.status, 201, letIn.text);
        await endedExecution(service, letIn.text);
      },
    },
    {
      name: "a queued execution can be cancelled by a user",
      covers: ["C9 final"],
      async run(service) {
        await using gates = await openGates();
        const running = await callWithRoom(service, "gate", `?async&${gates.query("c")}`);
        assert.equal(running.status, 201, running.text);
        await gates.arrived("c");
        await occupyOthers(service, gates);
        const queued = await callWithRoom(service, "echo");
        const cancel = await service.api("POST", `/execution/${queued.text}/cancel`);
        assert.ok(cancel.status < 300, cancel.text);
        const record = await endedExecution(service, queued.text);
        assert.equal(record["status"], "ENDED_CANCELLED");
        assert.equal(record["started_at"], null);
        gates.open("c");
      },
    },
  ],
};

/** Seconds from now to the start of the next month, UTC. */
function untilNextMonth(): number {
  const now = new Date();
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  return (next - now.getTime()) / 1000;
}

export const ALLOWANCE: Group = {
  name: "allowance",
  config: { CONNECTION_ALLOWANCE: 3 },
  flows: ["echo"],
  webhooks: {
    echo: { flow: "echo" },
    keyed: { flow: "echo", key: KEY },
    development: { flow: "echo", is_productive: false },
  },
  rows: [
    {
      name: "each recorded call of a productive webhook takes one, nothing else does",
      covers: [
        "8 allowance",
        "C1 allowance",
        "C1 counted once",
        "C8 not looked at",
        "C12 no-store",
      ],
      async run(service) {
        await service.api("POST", "/workspace/activity");
        assert.equal((await call(service, "keyed")).status, 401);
        assert.equal((await call(service, "unknown")).status, 404);
        assert.equal((await call(service, "echo", "?async", WRONG_BODY)).status, 415);
        const development = await call(service, "development");
        assert.equal(development.status, 201, development.text);

        const first = await call(service, "echo", "");
        assert.equal(first.status, 303);
        const back = `?__wait_execution_id=${executionId(first)}`;
        assert.equal((await call(service, "echo", back)).status, 200);
        assert.equal((await call(service, "echo", back)).status, 200);
        assert.equal((await call(service, "echo")).status, 201);
        assert.equal((await call(service, "keyed", `?async&key=${KEY}`)).status, 201);

        const before = await countExecutions(service, "echo");
        const refused = await call(service, "echo");
        assert.equal(refused.status, 429, refused.text);
        assertProblem(refused, { title: "Connection allowance used" });
        const seconds = Number(refused.headers["retry-after"]);
        assert.ok(Math.abs(seconds - untilNextMonth()) < 60, `Retry-After: ${seconds}`);
        assert.equal(refused.headers["cache-control"], "no-store");
        assert.equal(await countExecutions(service, "echo"), before);
        assert.equal((await call(service, "echo", back)).status, 200, "a re-entry takes none");
        assert.equal((await call(service, "development")).status, 201, "nor does development");
        assert.equal((await call(service, "keyed")).status, 401, "the key is asked for before");
      },
    },
  ],
};

/** Repeats the act and the call, since the window may have passed between them on a busy machine. */
function untilAdmitted(service: Service, act: () => Promise<unknown>): Promise<Answer> {
  return poll("a call to be admitted", async () => {
    await act();
    const answer = await call(service, "development", "");
    return answer.status === 402 ? null : answer;
  });
}

export const DEVELOPMENT: Group = {
  name: "development",
  config: { DEVELOPMENT_INACTIVITY_SEC: 1 },
  flows: ["echo", "identity"],
  webhooks: {
    productive: { flow: "echo" },
    development: { flow: "identity", is_productive: false },
    keyed: { flow: "echo", is_productive: false, key: KEY },
  },
  rows: [
    {
      name: "without an active user a development webhook answers 402 at once",
      covers: [
        "7 development 402",
        "8 inactivity",
        "C16 402",
        "C1 nothing recorded",
        "C12 no-store",
      ],
      async run(service) {
        const refused = await poll("the window to pass", async () => {
          const answer = await call(service, "development");
          return answer.status === 201 ? null : answer;
        });
        const before = await countExecutions(service, "development");
        assert.equal(refused.status, 402, refused.text);
        assertProblem(refused, { detail: /./ });
        assert.match(refused.text, /productive|active|log in|UI/i, "says what to do");
        assert.equal(refused.headers["cache-control"], "no-store");
        assert.equal((await call(service, "development")).status, 402);
        assert.equal(await countExecutions(service, "development"), before);
        assert.equal((await call(service, "productive")).status, 201);
      },
    },
    {
      name: "402 comes after the key and before the body",
      covers: ["C1 402 before body", "C1 body held back"],
      async run(service) {
        await poll("the window to pass", async () =>
          (await call(service, "development")).status === 402 ? true : null,
        );
        const keyed = { authorization: `Bearer ${KEY}` };
        assert.equal((await call(service, "keyed")).status, 401);
        for (const type of ["application/json", "text/plain"]) {
          const headers = { ...keyed, "content-type": type };
          const answer = await call(service, "keyed", "", { method: "POST", headers, body: "{" });
          assert.equal(answer.status, 402, `${type}: ${answer.text}`);
        }
      },
    },
    {
      name: "the activity of a user opens it",
      covers: ["7 development 402", "C8 not looked at"],
      async run(service) {
        const first = await untilAdmitted(service, async () => {
          const activity = await service.api("POST", "/workspace/activity");
          assert.ok(activity.status < 300, activity.text);
        });
        assert.equal(first.status, 303, first.text);
        const record = await endedExecution(service, executionId(first));
        assert.equal(record["is_productive"], false);
        assert.equal((record["output_value"] as { is_productive: boolean }).is_productive, false);
        await poll("the window to pass", async () =>
          (await call(service, "development")).status === 402 ? true : null,
        );
        const back = `?__wait_execution_id=${executionId(first)}`;
        assert.equal((await call(service, "development", back)).status, 200);
      },
    },
    {
      name: "a login opens it",
      covers: ["C18 activity"],
      async run(service) {
        await poll("the window to pass", async () =>
          (await call(service, "development")).status === 402 ? true : null,
        );
        const login = () => service.login("admin", ADMIN_PASSWORD);
        assert.equal((await untilAdmitted(service, login)).status, 303);
      },
    },
  ],
};
