import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { figure } from "./sizes.ts";
import { openTestService, type TestService } from "./test-service.ts";

/**
 * Calls with one key, sent in parallel while the server is killed: they are one execution. What was
 * interrupted is a failure, after which a key starts another unless the webhook says "same".
 */

const COUNT = 200;

const RECORDING = `
  import { appendFileSync } from "node:fs";
  import { defineFlow } from "flowhook";
  export default defineFlow({
    permissions: { write: ["<out>"] },
    run(flow) {
      appendFileSync("<out>/started", flow.execution.id + "\\n");
      return { id: flow.execution.id };
    },
  });
`;

/** What a caller was told; null: its connection broke. */
interface Told {
  readonly id: string | undefined;
  readonly status: number;
  readonly isReplayed: boolean;
}

function send(service: TestService, key: string, onTold = (): void => {}): Promise<Told | null>[] {
  const paths = ["?async", "", "?async=0"];
  return Array.from({ length: COUNT }, async (_, n) => {
    const headers = { "content-type": "application/json", "idempotency-key": key };
    try {
      const answer = await service.call("once", paths[n % 3], {
        method: "POST",
        body: "{}",
        headers,
      });
      onTold();
      const { status } = answer;
      const isReplayed = answer.headers["idempotent-replayed"] === "true";
      return { id: answer.headers["flowhook-execution-id"], status, isReplayed };
    } catch {
      return null;
    }
  });
}

interface Listed {
  readonly items: readonly { readonly id: string }[];
}

async function listIds(service: TestService): Promise<string[]> {
  const { text } = await service.api("GET", "/execution?webhook=once&limit=500");
  return (JSON.parse(text) as Listed).items.map(({ id }) => id);
}

/** How many answers come before the server is killed. */
const MOMENTS = [0, 1, 50, 150] as const;

describe("duplicates", () => {
  for (const moment of MOMENTS)
    test(`${COUNT} at once, SIGKILL after ${moment} answers, ${COUNT} more: one execution`, async () => {
      await using service = await openTestService({ files: { "once.ts": RECORDING } });
      await service.createWebhook("once", "once", {
        is_productive: true,
        idempotency: { from: "header:idempotency-key", after_failure: "same" },
      });
      let told = 0;
      const reached = Promise.withResolvers<void>();
      const first = send(service, "k", () => {
        told += 1;
        if (told >= moment) reached.resolve();
      });
      if (moment > 0) await reached.promise;
      await service.kill();
      const before = (await Promise.all(first)).filter((one) => one !== null);
      await service.start();
      const after = await Promise.all(send(service, "k"));

      for (const one of [...before, ...after]) {
        assert.ok(one !== null, "a service that runs answers");
        assert.ok([201, 303].includes(one.status), String(one.status));
      }
      const ids = new Set([...before, ...after].map((one) => one?.id));
      assert.equal(ids.size, 1, `told of ${[...ids].join(", ")}`);
      assert.deepEqual(await listIds(service), [...ids]);
      const fresh = [...before, ...after].filter((one) => one?.isReplayed === false);
      // Who started it may have lost its connection.
      assert.ok(fresh.length <= 1, `${fresh.length} were told that they started it`);
      if (before.length > 0) assert.ok(after.every((one) => one?.isReplayed === true));
      const started = await readFile(join(service.directory, "out/started"), "utf8").catch(
        () => "",
      );
      assert.ok(started.split("\n").filter(Boolean).length <= 1, "its flow ran twice");
      figure(`duplicates: answered before the kill, of ${COUNT}`, before.length);
      figure("duplicates: executions", ids.size);
    });
});
