import assert from "node:assert/strict";
import { send, type Answer } from "../client.ts";
import { openGates, type Gates } from "../gates.ts";
import {
  callTarget,
  endedExecution,
  executionId,
  poll,
  readExecution,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import type { Service } from "../service.ts";

/** A request whose client can hang up. `gone` resolves when it has. */
interface Caller {
  readonly answer: Promise<Answer>;
  hangUp(): Promise<void>;
}

function openCaller(
  service: Service,
  target: string,
  headers: Record<string, string> = {},
): Caller {
  const controller = new AbortController();
  const answer = send(service.origin, { target, headers, signal: controller.signal });
  answer.catch(() => undefined);
  return {
    answer,
    async hangUp() {
      controller.abort();
      await answer.catch(() => undefined);
    },
  };
}

async function newestId(service: Service, webhook: string): Promise<string> {
  return poll("an execution to be recorded", async () => {
    const answer = await service.api("GET", `/execution?webhook=${webhook}&limit=1`);
    return (answer.body as { items: { id: string }[] }).items[0]?.id ?? null;
  });
}

/** The first leg of a call that stops at a gate, and where it leads. */
async function startAtGate(
  service: Service,
  gates: Gates,
  name: string,
  more = "",
): Promise<{ readonly id: string; readonly target: string }> {
  const path = `?${gates.query(name)}${more}`;
  const first = await send(service.origin, { target: callTarget(service, "gate", path) });
  assert.equal(first.status, 303, first.text);
  await gates.arrived(name);
  const id = executionId(first);
  return { id, target: callTarget(service, "gate", `${path}&__wait_execution_id=${id}`) };
}

/**
 * Lets the service take notice of requests that were sent: those behind them, which read the same
 * of its store, are answered. Each of several nodes gets two.
 */
async function settle(service: Service): Promise<void> {
  const target = callTarget(service, "gate", "?__wait_execution_id=none");
  for (let turn = 0; turn < 6; turn += 1)
    assert.equal((await send(service.origin, { target })).status, 404);
}

async function status(service: Service, id: string): Promise<unknown> {
  return (await readExecution(service, id))["status"];
}

/** The flow goes on and its execution succeeds, so nothing has cancelled it. */
async function assertUnharmed(
  service: Service,
  gates: Gates,
  name: string,
  id: string,
): Promise<void> {
  await settle(service);
  assert.equal(await status(service, id), "RUNNING");
  gates.open(name);
  assert.equal((await endedExecution(service, id))["status"], "ENDED_SUCCESS");
}

/** For a group with a short window: here no leg that is waited for may come to its end. */
export const BETWEEN_LEGS: StoryRow = {
  name: "nothing is cancelled between legs",
  covers: ["C9 between legs"],
  async run(service) {
    await using gates = await openGates();
    const { id, target } = await startAtGate(service, gates, "between");
    const leg = await send(service.origin, { target });
    assert.equal(leg.status, 302, "a leg that came to its end");
    await assertUnharmed(service, gates, "between", id);
  },
};

const REDIRECT_ROWS: StoryRow[] = [
  {
    name: "the client goes while a leg waits",
    covers: ["C9 cancelled", "4.4 cancel", "8 cancel default"],
    async run(service) {
      await using gates = await openGates();
      const { id, target } = await startAtGate(service, gates, "waits");
      const caller = openCaller(service, target);
      await settle(service);
      await caller.hangUp();
      await gates.left("waits");
      const record = await endedExecution(service, id);
      assert.equal(record["status"], "ENDED_CANCELLED");
      const late = await send(service.origin, { target });
      assert.equal(late.status, 500);
      assert.match(late.text, /^ENDED_CANCELLED: /);
    },
  },
  {
    name: "not while another request waits on the execution",
    covers: ["C9 another waits"],
    async run(service) {
      await using gates = await openGates();
      const { id, target } = await startAtGate(service, gates, "two");
      const [one, other] = [openCaller(service, target), openCaller(service, target)];
      await settle(service);
      await one.hangUp();
      await settle(service);
      assert.equal(await status(service, id), "RUNNING");
      await other.hangUp();
      assert.equal((await endedExecution(service, id))["status"], "ENDED_CANCELLED");
    },
  },
  {
    name: "not when the result of an asynchronous call is waited for",
    covers: ["C9 async"],
    async run(service) {
      await using gates = await openGates();
      const path = `?${gates.query("async")}`;
      const target = callTarget(service, "gate", path);
      const started = await send(service.origin, { method: "POST", target: `${target}&async` });
      await gates.arrived("async");
      const caller = openCaller(service, `${target}&__wait_execution_id=${started.text}`);
      await settle(service);
      await caller.hangUp();
      await assertUnharmed(service, gates, "async", started.text);
    },
  },
  {
    name: "not by a disconnect on /execution/{id}/wait",
    covers: ["C9 wait"],
    async run(service) {
      await using gates = await openGates();
      const { id } = await startAtGate(service, gates, "wait");
      const target = `${service.prefix}/api/latest/execution/${id}/wait`;
      const caller = openCaller(service, target, { "x-service-token": service.token() });
      await settle(service);
      await caller.hangUp();
      await assertUnharmed(service, gates, "wait", id);
    },
  },
  {
    name: "a flow that does not hear the signal is cancelled all the same",
    covers: ["C9 final"],
    async run(service) {
      await using gates = await openGates();
      const { id, target } = await startAtGate(service, gates, "deaf", "&ignore");
      const caller = openCaller(service, target);
      await settle(service);
      await caller.hangUp();
      await poll("the cancel", async () =>
        (await status(service, id)) === "RUNNING" ? null : true,
      );
      gates.open("deaf");
      await gates.left("deaf");
      assert.equal((await endedExecution(service, id))["status"], "ENDED_CANCELLED");
      await settle(service);
      assert.equal(await status(service, id), "ENDED_CANCELLED");
    },
  },
  {
    name: "a user cancels, and the waiting caller is told",
    covers: ["C9 final", "4.4 rule 3"],
    async run(service) {
      await using gates = await openGates();
      const { id, target } = await startAtGate(service, gates, "user");
      const caller = openCaller(service, target);
      await settle(service);
      const cancel = await service.api("POST", `/execution/${id}/cancel`);
      assert.ok(cancel.status < 300, cancel.text);
      const answer = await caller.answer;
      assert.equal(answer.status, 500);
      assert.match(answer.text, /^ENDED_CANCELLED: /);
      const again = await service.api("POST", `/execution/${id}/cancel`);
      assert.equal(again.status, 409, again.text);
    },
  },
  {
    name: "many clients that come and go leave the service alive",
    covers: ["C9 cancelled", "C8 starts nothing"],
    async run(service) {
      await using gates = await openGates();
      const { id, target } = await startAtGate(service, gates, "many");
      const callers = Array.from({ length: 60 }, () => openCaller(service, target));
      await settle(service);
      const other = await send(service.origin, { target: callTarget(service, "echo", "?async") });
      assert.equal(other.status, 201, "waiting costs no thread");
      await Promise.all(callers.slice(1).map((caller) => caller.hangUp()));
      gates.open("many");
      const [first] = callers;
      assert.equal((await first?.answer)?.status, 200);
      assert.equal(await status(service, id), "ENDED_SUCCESS");
    },
  },
];

const HELD_ROWS: StoryRow[] = [
  {
    name: "the client of a held request goes",
    covers: ["C9 held", "4.4 cancel"],
    async run(service) {
      await using gates = await openGates();
      const caller = openCaller(service, callTarget(service, "held", `?${gates.query("held")}`));
      await gates.arrived("held");
      const id = await newestId(service, "held");
      await caller.hangUp();
      await gates.left("held");
      assert.equal((await endedExecution(service, id))["status"], "ENDED_CANCELLED");
    },
  },
  {
    name: "the client of a held request goes while another waits",
    covers: ["C9 held", "C9 another waits"],
    async run(service) {
      await using gates = await openGates();
      const path = `?${gates.query("held-two")}`;
      const caller = openCaller(service, callTarget(service, "held", path));
      await gates.arrived("held-two");
      const id = await newestId(service, "held");
      const target = callTarget(service, "held", `${path}&__wait_execution_id=${id}`);
      const other = openCaller(service, target);
      await settle(service);
      await caller.hangUp();
      await settle(service);
      gates.open("held-two");
      const answer = await other.answer;
      assert.equal(answer.status, 200, answer.text);
    },
  },
];

const WEBHOOKS: Group["webhooks"] = {
  gate: { flow: "gate" },
  held: { flow: "gate", sync_mode: "hold" },
  echo: { flow: "echo" },
};

export const CANCEL: Group = {
  name: "cancel",
  // Legs wait until their clients go, or the flow ends, however long a busy machine takes for that.
  config: { WAIT_POLL_WINDOW_SEC: 60, CANCEL_GRACE_SEC: 1, WORKER_THREADS: 4 },
  flows: ["gate", "echo"],
  webhooks: WEBHOOKS,
  rows: [...REDIRECT_ROWS, ...HELD_ROWS],
};

export const NO_CANCEL: Group = {
  name: "cancel switched off",
  config: { WEBHOOK_CANCEL_ENABLED: false },
  flows: ["gate", "echo"],
  webhooks: WEBHOOKS,
  rows: [
    {
      name: "the execution keeps running when its client goes",
      covers: ["4.4 cancel unset"],
      async run(service) {
        await using gates = await openGates();
        const { id, target } = await startAtGate(service, gates, "goes");
        const caller = openCaller(service, target);
        await settle(service);
        await caller.hangUp();
        await assertUnharmed(service, gates, "goes", id);
      },
    },
    {
      name: "the execution keeps running when the client of a held request goes",
      covers: ["4.4 cancel unset"],
      async run(service) {
        await using gates = await openGates();
        const caller = openCaller(service, callTarget(service, "held", `?${gates.query("held")}`));
        await gates.arrived("held");
        const id = await newestId(service, "held");
        await caller.hangUp();
        await assertUnharmed(service, gates, "held", id);
      },
    },
  ],
};
