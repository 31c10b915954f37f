import assert from "node:assert/strict";
import { test } from "node:test";
import { assertNotKept } from "./canary.ts";
import { send } from "./client.ts";
import { callTarget, endedExecution } from "./scenario.ts";
import { startService } from "./service.ts";
import { openTarget } from "./target.ts";

const PLANTED = "planted-where-it-may-be-kept";

test("the scanner finds what was planted", { skip: openTarget().skip ?? false }, async () => {
  const service = await startService({ flows: ["echo"] });
  try {
    await service.createWebhook("echo", "echo");
    const target = callTarget(service, "echo", `?async&note=${PLANTED}`);
    const answer = await send(service.origin, { method: "POST", target });
    await endedExecution(service, answer.text);
    await service.stop({ keepFiles: true });
    await assert.rejects(assertNotKept(service, "", [PLANTED]), /data/);
    await assert.rejects(assertNotKept(service, `a ${PLANTED} b`, [PLANTED]), /log/);
    await assertNotKept(service, service.logs(), ["never-planted-anywhere"]);
  } finally {
    await service.stop();
  }
});
