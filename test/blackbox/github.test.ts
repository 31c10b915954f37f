import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { follow, send, type Answer } from "./client.ts";
import { callTarget, endedExecution, executionId } from "./scenario.ts";
import { startService, type Service } from "./service.ts";
import { openTarget, ROOT } from "./target.ts";

interface EventExamples {
  readonly name: string;
  readonly examples: readonly object[];
}

const EVENTS = createRequire(import.meta.url)("@octokit/webhooks-examples") as EventExamples[];

/** The secret that the example flow checks signatures with until one is set. */
const SECRET = "flowhook-demo";

const target = openTarget();

describe(`GitHub's payloads (${target.name})`, { skip: target.skip ?? false }, () => {
  let service: Service;
  before(async () => {
    service = await startService({ plugins: [join(ROOT, "plugins/github-push.ts")] });
    await service.createWebhook("github", "github-push");
    await service.createWebhook("github-held", "github-push", { sync_mode: "hold" });
  });
  after(async () => {
    await service.stop();
  });

  function deliver(
    webhook: string,
    event: string,
    body: string,
    signature = sign(body),
  ): Promise<Answer> {
    return follow(service.origin, {
      method: "POST",
      target: callTarget(service, webhook),
      headers: headers(event, signature),
      body,
    });
  }

  for (const { name, examples } of EVENTS) {
    test(`${name}: ${examples.length} payloads, asynchronous and held`, async () => {
      for (const [at, example] of examples.entries()) {
        const body = JSON.stringify(example, null, at % 2 === 0 ? 0 : 2);
        const accepted = await send(service.origin, {
          method: "POST",
          target: callTarget(service, "github", "?async"),
          headers: headers(name, sign(body)),
          body,
        });
        assert.equal(accepted.status, 201, accepted.text);
        const held = await deliver("github-held", name, body);
        assert.ok(held.status >= 200 && held.status < 300, `${held.status}: ${held.text}`);
        const record = await endedExecution(service, executionId(held));
        const input = record["input_value"] as { json: unknown };
        assert.deepEqual(input.json, JSON.parse(body), "the payload arrives whole");
        const ended = await endedExecution(service, accepted.text);
        assert.equal(ended["status"], "ENDED_SUCCESS", String(ended["status_message"]));
      }
    });
  }

  test("a wrong or missing signature is refused by the flow", async () => {
    const body = JSON.stringify(EVENTS[0]?.examples[0]);
    for (const signature of [
      sign(`${body} `),
      "sha256=00",
      "",
      sign(body).replace("sha256", "sha1"),
    ]) {
      for (const webhook of ["github", "github-held"]) {
        const answer = await deliver(webhook, "push", body, signature);
        assert.equal(answer.status, 401, `"${signature}": ${answer.text}`);
      }
    }
  });
});

function sign(body: string): string {
  return `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`;
}

function headers(event: string, signature: string): Record<string, string> {
  return {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-event": event,
    "x-github-delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
    ...(signature === "" ? {} : { "x-hub-signature-256": signature }),
  };
}
