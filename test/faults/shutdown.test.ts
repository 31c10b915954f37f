import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Agent } from "node:http";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { send, type Answer } from "../blackbox/client.ts";
import { executionId, poll } from "../blackbox/scenario.ts";
import { openGate } from "../api/gate.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { figure, mostHere } from "./sizes.ts";

/** SIGTERM: what runs may end, who waits is sent on, what waits is kept. */

/** Runs until the gate at the address in `gate` opens. */
const PACED = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { net: true },
  run: async ({ input_value, signal }) => (await fetch(input_value.query.gate, { signal })).text(),
});
`;

/** Starts two flows once the gate opens, and waits for the second. */
const PARENT = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { net: true },
  run: async (flow) => {
    await fetch(flow.input_value.query.gate);
    const left = await flow.start_execution("child", {});
    const { status, output_value } = await flow.start_execution("child", {}, { wait: true });
    return { waited: [status, output_value], left };
  },
});
`;

/** Longer than a busy machine holds up the first call in it. */
const DELAY_MS = 6000;

describe("shutdown", () => {
  test("running executions end within the grace, and their callers get the result", async () => {
    await using gate = await openGate();
    await using service = await openPaced({ SHUTDOWN_GRACE_SEC: 30 });
    const leg = await waitingLeg(service, "paced", `?gate=${gate.url}`);
    await gate.arrived;
    service.signal("SIGTERM");
    await poll("new calls to be refused", async () => {
      const refused = await service.call("paced", `?async&gate=${gate.url}`);
      return refused.status === 503 ? true : null;
    });
    const ready = await send(service.origin, { target: "/health/ready" });
    assert.equal(ready.status, 503);
    gate.open();
    const answer = await leg.answer;
    assert.deepEqual([answer.status, answer.text], [200, '"in"']);
    assert.equal(await service.ended(), 0);
  });

  test("what runs goes on with the flows that it starts, and those that nobody waits for come later", async () => {
    await using gate = await openGate();
    await using service = await openTestService({
      config: { SHUTDOWN_GRACE_SEC: 30, WORKER_THREADS: 1 },
      files: { "paced.ts": PACED, "parent.ts": PARENT, "child.js": "export default () => 'done';" },
    });
    await service.createWebhook("parent", "parent", { is_productive: true, role: "webhook" });
    const leg = await waitingLeg(service, "parent", `?gate=${gate.url}`);
    await gate.arrived;
    service.signal("SIGTERM");
    await untilLogged(service, "Stopping");
    gate.open();
    const { status, text } = await leg.answer;
    assert.equal(status, 200, text);
    const { waited, left } = JSON.parse(text) as { waited: unknown; left: string };
    assert.deepEqual(waited, ["ENDED_SUCCESS", "done"]);
    assert.equal(await service.ended(), 0);
    await service.start();
    const { text: ended } = await service.api("GET", `/execution/${left}/wait`);
    assert.equal((JSON.parse(ended) as { status: string }).status, "ENDED_SUCCESS");
  });

  test("a large result that comes within the grace is kept, and so is one with headers of CORS", async () => {
    await using gate = await openGate();
    await using service = await openTestService({
      config: { SHUTDOWN_GRACE_SEC: 30 },
      files: {
        "large.ts": PACED.replace(").text()", ").text().then((text) => text.repeat(4_500_000))"),
        "shared.ts": PACED.replace(
          ").text()",
          `).text().then((body) => new Response(body, { headers: { "access-control-allow-origin": "*" } }))`,
        ),
      },
    });
    const ids: string[] = [];
    for (const name of ["large", "shared"]) {
      await service.createWebhook(name, name, { is_productive: true });
      ids.push(executionId(await service.call(name, `?async&gate=${gate.url}`)));
    }
    await untilRunning(service, 2);
    service.signal("SIGTERM");
    gate.open();
    assert.equal(await service.ended(), 0);
    await service.start();
    for (const id of ids) {
      const { text } = await service.api("GET", `/execution/${id}`);
      assert.equal(
        (JSON.parse(text) as { status: string }).status,
        "ENDED_SUCCESS",
        text.slice(0, 300),
      );
    }
  });

  test("signals to all processes of the service cost no execution, and runners end with it", async () => {
    await using gate = await openGate();
    await using service = await openTestService({
      config: { SHUTDOWN_GRACE_SEC: 30 },
      files: { "paced.ts": PACED, "busy.js": "export default () => { for (;;); };" },
    });
    for (const name of ["paced", "busy"])
      await service.createWebhook(name, name, { is_productive: true });
    const leg = await waitingLeg(service, "paced", `?gate=${gate.url}`);
    await gate.arrived;
    const runners = service.runners();
    assert.ok(runners.length > 0);
    for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const)
      for (const pid of runners) process.kill(pid, signal);
    gate.open();
    assert.equal((await leg.answer).text, '"in"');
    assert.deepEqual(service.runners(), runners);
    await service.call("busy", "?async");
    await untilRunning(service, 1);
    await service.kill();
    await poll("the runners to end", async () => !runners.some(isThere) || null);
  });

  test("beyond the grace: one 302 with Connection: close, then interrupted", async () => {
    await using service = await openTestService({
      config: { SHUTDOWN_GRACE_SEC: 0.5, WORKER_THREADS: 3, FLOW_MAX_CONCURRENT: 2 },
      flows: ["sleep"],
    });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    const legs = [
      await waitingLeg(service, "sleep", "?ms=60000"),
      await waitingLeg(service, "sleep", "?ms=60000"),
    ];
    await untilRunning(service, 2);
    const pending = await waitingLeg(service, "sleep", "?ms=5");
    const begun = performance.now();
    service.signal("SIGTERM");
    const answers = await Promise.all([...legs, pending].map((leg) => leg.answer));
    const code = await service.ended();
    figure("shutdown: SIGTERM to the end, with a grace of 500 ms", performance.now() - begun, "ms");
    for (const { status, headers } of answers) {
      assert.equal(status, 302);
      assert.equal(headers["connection"], "close");
    }
    assert.equal(code, 0);
    await service.start();
    const [interrupted, , resumed] = await Promise.all(
      answers.map((answer) => service.call("sleep", queryOf(answer))),
    );
    assert.match(interrupted?.text ?? "", /^ENDED_ERROR: interrupted by a restart/);
    assert.equal(resumed?.status, 200, "what was PENDING is run by the next start");
    const id = answers[0]?.headers["flowhook-execution-id"] ?? "none";
    const line = service
      .logs()
      .split("\n")
      .find((text) => text.includes(`"execution":"${id}"`));
    const { level, webhook, flow, status, message } = JSON.parse(line ?? "{}") as Record<
      string,
      unknown
    >;
    assert.deepEqual(
      { level, webhook, flow, status, message },
      {
        level: "warn",
        webhook: "sleep",
        flow: "sleep",
        status: "ENDED_ERROR",
        message: "interrupted by a restart",
      },
    );
    const { text } = await send(service.origin, { target: "/metrics" });
    assert.match(text, /^flowhook_executions_interrupted_total 2$/m);
    assert.match(
      text,
      /^flowhook_executions_ended_total\{webhook="sleep",status="ENDED_ERROR"\} 2$/m,
    );
  });

  test("the flow that ran last has a thread from the next start on, before it is called", async () => {
    await using service = await openTestService({ flows: ["sleep", "echo"] });
    for (const flow of ["echo", "sleep"]) {
      await service.createWebhook(flow, flow, { is_productive: true, sync_mode: "hold" });
      assert.equal((await service.call(flow, "?ms=1")).status, 200);
    }
    assert.equal(await service.stop(), 0);
    await service.start();
    await poll("its thread", async () => (await threadsOf(service)) === 1 || null);
    assert.equal((await service.call("sleep", "?ms=1")).status, 200);
    assert.equal(await threadsOf(service), 1, "the call needed no other");
  });

  test("SIGTERM again and again, and in the first moment", async () => {
    await using service = await openTestService({ flows: ["sleep"] });
    await service.createWebhook("sleep", "sleep", { is_productive: true });
    await service.call("sleep", "?async&ms=300");
    for (let n = 0; n < 3; n += 1) service.signal("SIGTERM");
    const code = await service.ended();
    assert.ok(code === 0 || code === null, `exit code ${code}`);
    await service.start();
    await service.assertAlive();
  });

  test("3: Ctrl-C reaches the whole group: what runs ends, and its caller gets the result", async () => {
    await using gate = await openGate();
    await using service = await openPaced({ SHUTDOWN_GRACE_SEC: 30 });
    const leg = await waitingLeg(service, "paced", `?gate=${gate.url}`);
    await gate.arrived;
    service.signalGroup("SIGINT");
    await untilLogged(service, "Stopping: 1 execution runs, it has up to 30 s; a second signal");
    gate.open();
    const answer = await leg.answer;
    assert.deepEqual([answer.status, answer.text], [200, '"in"']);
    assert.equal(await service.ended(), 0);
    assert.match(service.logs(), /"Stopped"/);
  });

  test("calls are taken for SHUTDOWN_DELAY_SEC though it is not ready, each with the connection's last answer", async () => {
    const config = { SHUTDOWN_DELAY_SEC: DELAY_MS / 1000, SHUTDOWN_GRACE_SEC: 10 };
    await using service = await openTestService({ config, flows: ["sleep"] });
    await service.createWebhook("sleep", "sleep", { is_productive: true, sync_mode: "hold" });
    const agent = new Agent({ keepAlive: true });
    const kept = await service.call("sleep", "?ms=1", { agent });
    assert.equal(kept.headers["connection"], "keep-alive");
    const begun = performance.now();
    service.signal("SIGTERM");
    await poll("readiness 503", async () => (await readiness(service)) === 503 || null);
    for (let tried = 0; ; tried += 1) {
      const answer = await service.call("sleep", "?ms=1", { agent }).catch(() => null);
      if (answer?.status !== 200) {
        const took = performance.now() - begun;
        figure(`shutdown: calls taken within a delay of ${DELAY_MS} ms`, tried);
        assert.ok(tried > 0 && took >= DELAY_MS, `${tried} calls in ${took} ms`);
        break;
      }
      assert.equal(answer.headers["connection"], "close");
      await delay(10);
    }
    agent.destroy();
    assert.equal(await service.ended(), 0);
  });

  test("a second signal ends the delay", async () => {
    const config = { SHUTDOWN_DELAY_SEC: 3600 };
    await using service = await openTestService({ config });
    service.signal("SIGTERM");
    await untilLogged(service, "Not ready any more, stopping in 3600 s: nothing runs");
    // Sooner it would count as the same one.
    await delay(1_100);
    service.signal("SIGTERM");
    assert.equal(await service.ended(), 0);
  });

  test("3: signals that come together are one, as those of timeout and npm", async () => {
    await using gate = await openGate();
    await using service = await openPaced({ SHUTDOWN_GRACE_SEC: 30 });
    const leg = await waitingLeg(service, "paced", `?gate=${gate.url}`);
    await gate.arrived;
    service.signal("SIGSTOP");
    service.signalGroup("SIGTERM");
    service.signalGroup("SIGINT");
    service.signal("SIGCONT");
    await untilLogged(service, "Stopping: 1 execution runs");
    gate.open();
    assert.equal((await leg.answer).status, 200);
    assert.equal(await service.ended(), 0);
    assert.doesNotMatch(service.logs(), /Stopping at once/);
  });

  test("3: a second Ctrl-C does not wait for the end of the grace", async () => {
    await using gate = await openGate();
    await using service = await openPaced({ SHUTDOWN_GRACE_SEC: 86_400 });
    const leg = await waitingLeg(service, "paced", `?gate=${gate.url}`);
    await gate.arrived;
    service.signalGroup("SIGINT");
    await untilLogged(service, "Stopping: 1 execution runs");
    // Sooner it would count as the same one.
    await delay(1_100);
    service.signalGroup("SIGINT");
    await untilLogged(service, "Stopping at once: what runs is interrupted");
    const answer = await leg.answer;
    assert.equal(answer.status, 302);
    assert.equal(await service.ended(), 0);
    await service.start();
    const interrupted = await service.call("paced", queryOf(answer));
    assert.match(interrupted.text, /^ENDED_ERROR: interrupted by a restart/);
  });

  test("threads that wait for the next large body or check keep nobody waiting", async () => {
    await using service = await openTestService({ flows: ["sleep"] });
    await service.createWebhook("sleep", "sleep");
    const answer = await service.call("sleep", "?async&ms=1", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify("a".repeat(1024 * 1024)),
    });
    assert.equal(answer.status, 201, answer.text);
    const begun = performance.now();
    assert.equal(await service.stop(), 0);
    const took = performance.now() - begun;
    figure("shutdown: SIGTERM to the end, with an idle thread that parses", took, "ms");
    assert.ok(took < mostHere(5000), `${took} ms`);
  });

  test("3: where nothing runs, it says so; SIGHUP without a terminal stops nothing", async () => {
    await using service = await openTestService({ leads_group: true });
    service.signal("SIGHUP");
    await untilLogged(service, "SIGHUP: nothing to do");
    await service.assertAlive();
    service.signalGroup("SIGINT");
    assert.equal(await service.ended(), 0);
    assert.match(service.logs(), /"Stopping: nothing runs"/);
  });
});

/** A process that has ended may still have a name: nobody has asked for its exit code. */
function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** A service that leads a group of processes, with the flow and webhook "paced". */
async function openPaced(config: Readonly<Record<string, unknown>>): Promise<TestService> {
  const service = await openTestService({
    config,
    files: { "paced.ts": PACED },
    leads_group: true,
  });
  await service.createWebhook("paced", "paced", { is_productive: true });
  return service;
}

async function readiness({ origin }: TestService): Promise<number> {
  return (await send(origin, { target: "/health/ready" })).status;
}

async function threadsOf({ origin }: TestService): Promise<number> {
  const { text } = await send(origin, { target: "/metrics" });
  return Number(/^flowhook_runner_threads (\d+)$/m.exec(text)?.[1]);
}

/** What a signal finds PENDING is kept for the next start. */
async function untilRunning(service: TestService, count: number): Promise<void> {
  await poll(`${count} executions to run`, async () => {
    const { text } = await service.api("GET", "/execution?status=RUNNING");
    return text.split('"status":"RUNNING"').length - 1 === count || null;
  });
}

async function untilLogged(service: TestService, text: string): Promise<void> {
  await poll(`the log to say "${text}"`, async () => service.logs().includes(text) || null);
}

/** A second leg that waits; the first one has acknowledged its execution. */
async function waitingLeg(
  service: TestService,
  webhook: string,
  query: string,
): Promise<{ readonly answer: Promise<Answer> }> {
  const first = await service.call(webhook, query);
  assert.equal(first.status, 303);
  const answer = service.call(webhook, queryOf(first));
  answer.catch(() => undefined);
  // Answered after the leg has arrived, which was sent before.
  await service.assertAlive();
  return { answer };
}

function queryOf(answer: Answer): string {
  const location = answer.headers["location"] ?? "";
  return location.slice(location.indexOf("?"));
}
