import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openGates } from "../blackbox/gates.ts";
import { executionId, poll } from "../blackbox/scenario.ts";
import { openMeeting } from "./meeting.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Limits of a webhook across SIGKILL and the next start. */

/** Runs until the gate at the address in `gate` opens. */
const GATED = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { net: true },
  run: async ({ input_value, signal }) => (await fetch(input_value.query.gate, { signal })).text(),
});
`;

interface Record {
  readonly status: string;
  readonly status_message: string | null;
}

async function read(service: TestService, id: string): Promise<Record> {
  const { status, text } = await service.api("GET", `/execution/${id}`);
  assert.equal(status, 200, text);
  return JSON.parse(text) as Record;
}

function hasEnded(service: TestService, id: string): Promise<Record> {
  return poll(`the end of ${id}`, async () => {
    const record = await read(service, id);
    return record.status.startsWith("ENDED_") ? record : null;
  });
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

async function openGated(limits: object, threads = 6): Promise<TestService> {
  const service = await openTestService({
    config: { WORKER_THREADS: threads, FLOW_MAX_CONCURRENT: Math.min(5, threads) },
    files: { "gated.ts": GATED },
  });
  await service.createWebhook("gated", "gated", { is_productive: true, limits });
  return service;
}

describe("limits and restarts", () => {
  test("runners that die, cancels and callers that leave: no place is lost, none is given twice", async () => {
    await using meeting = await openMeeting();
    await using service = await openGated({ max_concurrent: 3 });
    const ids: string[] = [];
    for (let at = 0; at < 120; at += 1) {
      const query = meeting.query(at % 7 === 0 ? 60_000 : at % 20);
      ids.push(executionId(await service.call("gated", `?async&${query}`)));
    }
    // Those that stay for a minute end by a cancel, before their turn or after it, or with their runner.
    const cancel = (id: string) => service.api("POST", `/execution/${id}/cancel`, {});
    for (const [at, id] of ids.entries()) if (at % 14 === 0) await cancel(id);
    for (let kills = 0, done = 0; done < ids.length;) {
      const records = await Promise.all(ids.map((id) => read(service, id)));
      done = records.filter(({ status }) => status.startsWith("ENDED_")).length;
      const running = ids.filter((_, at) => records[at]?.status === "RUNNING");
      // The last ones that stay are fewer.
      if (running.length < Math.min(3, ids.length - done)) continue;
      const [runner] = service.runners();
      if (kills < 2 && runner !== undefined) killIfThere(runner);
      else if (running[0] !== undefined) await cancel(running[0]);
      kills += 1;
    }
    assert.ok(meeting.seen.most <= 3, `${meeting.seen.most} ran at once`);
    assert.ok(meeting.seen.left > 60, `${meeting.seen.left} ran at all`);
    const last = executionId(await service.call("gated", `?async&${meeting.query(0)}`));
    const { status, status_message } = await hasEnded(service, last);
    assert.equal(status, "ENDED_SUCCESS", status_message ?? "");
  });

  test("a restart keeps the order of what waits, and the limit", async () => {
    await using gates = await openGates();
    await using service = await openGated({ max_concurrent: 1 });
    const start = async (name: string): Promise<string> =>
      executionId(await service.call("gated", `?async&${gates.query(name)}`));
    const first = await start("first");
    await gates.arrived("first");
    const waiting: string[] = [];
    for (const name of ["second", "third", "fourth"]) waiting.push(await start(name));
    await service.kill();
    await service.start();
    assert.match((await read(service, first)).status_message ?? "", /^interrupted/);
    for (const [at, name] of ["second", "third", "fourth"].entries()) {
      await gates.arrived(name);
      for (const later of waiting.slice(at + 1))
        assert.equal((await read(service, later)).status, "PENDING");
      gates.open(name);
    }
    for (const id of waiting) assert.equal((await hasEnded(service, id)).status, "ENDED_SUCCESS");
  });

  test("the newest begins where the one that it replaces would have, however often that is", async () => {
    await using gates = await openGates();
    await using service = await openGated({ max_concurrent: 1, when_busy: "replace" }, 1);
    await service.createWebhook("free", "gated", { is_productive: true });
    const start = async (webhook: string, name: string): Promise<string> =>
      executionId(await service.call(webhook, `?async&${gates.query(name)}`));
    for (const name of ["first", "second", "third"]) await start("free", name);
    await start("gated", "replaced");
    await start("free", "behind");
    await start("gated", "replaced-too");
    const newest = await start("gated", "newest");
    for (const name of ["first", "second", "third"]) gates.open(name);
    await gates.arrived("newest");
    assert.equal((await read(service, newest)).status, "RUNNING");
    gates.open("newest");
    await gates.arrived("behind");
    gates.open("behind");
  });

  test("what was replaced ends with the record of the new one, whenever the service is killed", async () => {
    await using gates = await openGates();
    await using service = await openGated({ max_concurrent: 1, when_busy: "replace" });
    const start = async (name: string): Promise<string> =>
      executionId(await service.call("gated", `?async&${gates.query(name)}`));
    const ids = [await start("first")];
    await gates.arrived("first");
    for (let at = 0; at < 20; at += 1) ids.push(await start(`next-${at}`));
    // Acknowledged is the newest: whoever it has replaced is on disk as ended.
    await service.kill();
    await service.start();
    const newest = ids.pop() as string;
    for (const [at, id] of ids.entries()) {
      const { status, status_message } = await read(service, id);
      if (at === 0) assert.equal(status, "ENDED_ERROR");
      else {
        assert.equal(status, "ENDED_CANCELLED");
        assert.equal(status_message, `Replaced by ${ids[at + 1] ?? newest}`);
      }
    }
    await gates.arrived("next-19");
    gates.open("next-19");
    assert.equal((await hasEnded(service, newest)).status, "ENDED_SUCCESS");
  });
});
