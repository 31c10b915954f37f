import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openGates } from "../blackbox/gates.ts";
import { executionId, poll } from "../blackbox/scenario.ts";
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

async function openGated(limits: object): Promise<TestService> {
  const service = await openTestService({
    config: { WORKER_THREADS: 6, FLOW_MAX_CONCURRENT: 5 },
    files: { "gated.ts": GATED },
  });
  await service.createWebhook("gated", "gated", { is_productive: true, limits });
  return service;
}

describe("limits and restarts", () => {
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
