import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openTarget } from "../blackbox/target.ts";
import { openWorkplace } from "./dev-session.ts";
import { all } from "./session.ts";

const FILES = {
  "flowhook.yaml": "MAX_CHILDREN: 12\nMAX_CHILD_DEPTH: 2\n",
  "plugins/brief.ts": `import { setTimeout as wait } from "node:timers/promises";
export default async () => {
  const begun = Date.now();
  await wait(100);
  return [begun, Date.now()];
};
`,
  "plugins/many.ts": `export default async (flow) => {
  const starts = Array.from({ length: 12 }, () => flow.start_execution("brief", {}, { wait: true }));
  const spans = (await Promise.all(starts)).map(({ output_value }) => output_value);
  const more = await flow.start_execution("brief").catch(({ message }) => message);
  return { spans, more };
};
`,
  "plugins/again.ts": `export default async (flow) => {
  const refused = await flow.start_execution("again", {}, { wait: true }).catch(({ message }) => message);
  const setting = await flow.set_setting("a\\0b", 1).catch(({ message }) => message);
  return { refused, setting };
};
`,
  "plugins/ping.ts": `export default async (flow) =>
  (await flow.start_execution("pong", {}, { wait: true })).output_value;
`,
  "plugins/pong.ts": `export default (flow) =>
  flow.start_execution("ping", {}, { wait: true }).catch(({ message }) => message);
`,
  "plugins/deep.ts": `export default async (flow) => {
  const { n = 0 } = flow.input_value;
  const failed = await flow.start_execution("deep", { n: n + 1 }).catch(({ message }) => message);
  if (failed.startsWith("Cannot")) await flow.set_setting("failed", [n, failed]);
};
`,
  "plugins/all.test.ts": `import assert from "node:assert/strict";
import { test } from "node:test";
import { testFlow } from "flowhook/testing";
import many from "./many.ts";
import again from "./again.ts";
import ping from "./ping.ts";
import deep from "./deep.ts";

test("so many at once, and so many of one execution", async () => {
  const { output_value: { spans, more } } = await testFlow(many);
  assert.equal(spans.length, 12);
  for (const [begun] of spans) {
    const running = spans.filter(([from, to]) => from <= begun && begun < to);
    assert.ok(running.length <= 4, JSON.stringify(spans));
  }
  assert.match(more, /It has started 12 executions, as many as one may \\(MAX_CHILDREN\\)$/);
});

test("none waits for its own flow, itself or through another", async () => {
  const { output_value } = await testFlow(again);
  const wait = /An execution of "(again|ping)" would wait for another one of it/;
  assert.match(output_value.refused, wait);
  assert.match(output_value.setting, /As the name of a setting, expected /);
  assert.match((await testFlow(ping)).output_value, wait);
});

test("so deep, and no deeper", async () => {
  const { settings } = await testFlow(deep);
  const [n, failed] = settings.failed;
  assert.equal(n, 2);
  assert.match(failed, /2 executions led to this one, and one more is too many \\(MAX_CHILD_DEPTH\\)$/);
});
`,
};

describe("flow test", { skip: openTarget().skip ?? false }, () => {
  test("flows that are started have the service's limits", async () => {
    await using place = await openWorkplace(FILES);
    const finished = await place.run(["flow", "test", "--reporter", "tap"]);
    assert.equal(finished.code, 0, all(finished));
  });
});
