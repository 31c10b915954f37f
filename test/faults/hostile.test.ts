import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openTestService, type TestService } from "./test-service.ts";

/**
 * Flows that were written to harm: what they send over the wall may be anything, and must end
 * nothing but their own execution.
 */

interface Row {
  readonly name: string;
  /** Body of the flow's function, which gets `flow`. */
  readonly code: string;
  /** What the caller gets, as `STATUS text`. */
  readonly answer: RegExp;
}

/** Replaces the text of the flow's ending by way of what JSON.stringify asks of any object. */
const ROWS: readonly Row[] = [
  {
    name: "C1: a response that is the text null",
    code: `Object.prototype.toJSON = () => null; flow.webhook_response({ status: 200, body: "" }); delete Object.prototype.toJSON;`,
    answer: /^(200|500 ENDED_ERROR: )/,
  },
  {
    name: "C1: a response that is no object",
    code: `for (const value of [[], 7, "text", true]) { Object.prototype.toJSON = () => value; flow.webhook_response({ status: 200, body: "" }); delete Object.prototype.toJSON; }`,
    answer: /^(200|500 ENDED_ERROR: )/,
  },
  {
    name: "C1: a response that is no JSON",
    code: `const store = Object.getPrototypeOf(new (await import("node:async_hooks")).AsyncLocalStorage());
      const run = store.run;
      store.run = function (execution, act) { execution.response = "{"; return run.call(this, execution, act); };
      return 1;`,
    answer: /^(200 1$|500 ENDED_ERROR: )/,
  },
  {
    name: "C1: a result that is spliced into the record",
    code: `return { toJSON: () => ({ a: 1 }), b: '},"status":"PENDING","role":"admin"' };`,
    answer: /^200 \{"a":1\}$/,
  },
];

describe("what hostile flows send", () => {
  let service: TestService;
  before(async () => {
    const files = ROWS.map(({ code }, at) => [
      `hostile-${at}.ts`,
      `export default async (flow) => {\n${code}\n};\n`,
    ]);
    service = await openTestService({
      config: { SYNC_MODE: "hold", CANCEL_GRACE_SEC: 0.2 },
      flows: ["echo"],
      files: Object.fromEntries(files),
    });
    await service.createWebhook("echo", "echo");
    for (const at of ROWS.keys()) await service.createWebhook(`hostile-${at}`, `hostile-${at}`);
  });
  after(() => service[Symbol.asyncDispose]());

  for (const [at, { name, answer }] of ROWS.entries())
    test(name, async () => {
      const { pid } = service;
      // Twice: what the first run leaves behind meets the second.
      for (let round = 0; round < 2; round += 1) {
        const answered = await service.call(`hostile-${at}`);
        assert.match(`${answered.status} ${answered.text}`, answer);
        const [execution] = JSON.parse((await service.api("GET", "/execution?limit=1")).text).items;
        const record = JSON.parse((await service.api("GET", `/execution/${execution.id}`)).text);
        assert.equal(record.status, execution.status);
        assert.equal(record.role, execution.role);
      }
      const other = await service.call("echo", "", { method: "POST", body: "1" });
      assert.ok(other.status === 200 || other.status === 415, other.text);
      assert.equal(service.pid, pid);
      await service.assertAlive();
    });
});
