import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_FRAME } from "../../src/shared/wire/frames.ts";
import { openBench } from "./runners-fixture.ts";

/** Texts that are longer than a frame may be: what has them fails, and nothing beside it. */

const WAYS = { "to a line of its own": {}, "by way of its runner": { sockets: null } } as const;

/** Each of its characters is escaped in JSON, once more by each way in JSON. */
const QUOTES = JSON.stringify('"'.repeat(MAX_FRAME / 4));

for (const [name, options] of Object.entries(WAYS))
  test(`an answer that no thread can be given is an error of who asked, ${name}`, async () => {
    await using bench = await openBench(options);
    const beside = bench.flow(
      `export default async ({ setting }) => { await setting("beside"); return 1; }`,
    );
    const { promise, resolve } = Promise.withResolvers<void>();
    bench.answer = async ({ name: asked }) => {
      if (asked === "beside") await promise;
      return { ok: true, value: asked === "beside" ? "1" : `[${QUOTES},${QUOTES}]` };
    };
    const other = bench.run(beside);
    const { status_message } = await bench.run(
      bench.flow(`export default async ({ setting }) => await setting("long");`),
    );
    assert.match(status_message ?? "", /^The answer has \d+ bytes, a thread takes at most \d+$/);
    resolve();
    assert.equal((await other).output_value, "1");
  });

test("a result that a runner cannot hand on fails its run, and no other", async () => {
  await using bench = await openBench({ sockets: null, max_output_bytes: MAX_FRAME });
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.answer = async () => {
    await promise;
    return { ok: true, value: "1" };
  };
  const other = bench.run(
    bench.flow(`export default async ({ setting }) => await setting("beside");`),
  );
  const { status_message } = await bench.run(
    bench.flow(`export default () => '"'.repeat(${MAX_FRAME / 4});`, { memory_mb: 2000 }),
  );
  assert.match(status_message ?? "", /thread was lost: what it had to tell is longer than/);
  resolve();
  assert.equal((await other).output_value, "1");
});
