import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { globSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { FlowSpec } from "../../src/shared/wire/protocol.ts";
import { openBench, type Bench } from "./runners-fixture.ts";

/** A flow that has got hold of its thread's line to the server can end its own thread, and no more. */

/** Keeps the line, and the bytes that its thread has sent last, its token among them. */
const HOLDING = `import net from "node:net";
let line = null, sent = null;
const plain = net.Socket.prototype._writeGeneric;
net.Socket.prototype._writeGeneric = function (...args) { line = this; sent = args[1]; return plain.apply(this, args); };
const frame = (head, text = "") => { const body = Buffer.from(sent.toString("latin1", 4, 36) + JSON.stringify(head) + "\\n" + text); const all = Buffer.alloc(4); all.writeUInt32BE(body.length); return Buffer.concat([all, body]); };
let runs = 0;
`;

const ENDED = `["ended", id, "ENDED_SUCCESS", null, 1, "sound", 3, -1], '"x"'`;

let bench: Bench;
let other: FlowSpec;

before(async () => {
  bench = await openBench();
  bench.answer = () => ({ ok: true, value: JSON.stringify("x".repeat(4_000)) });
  other = bench.flow(
    `export default async () => { await new Promise((done) => setTimeout(done, 300)); return "here"; }`,
  );
  await bench.run(other);
});
after(() => bench[Symbol.asyncDispose]());

/** A flow whose first run is as any other, and whose second does something to the line. */
function holding(act: string): FlowSpec {
  const code = `${HOLDING} export default ({ execution, input_value }) => { const { id } = execution; if ((runs += 1) > 1) { ${act} } return runs; }`;
  return bench.flow(code, { grants: { net: true } });
}

const DAMAGES: Readonly<Record<string, string>> = {
  "bytes that are no frame": `line.write("garbage that is no frame");`,
  "a frame that is too long": `line.write(Buffer.from([127, 255, 255, 255, 0]));`,
  "a frame without its token": `const f = frame(${ENDED}); f.fill(48, 4, 36); line.write(f);`,
  "a head that is no JSON": `const f = frame([]); f[36] = 123; line.write(f);`,
  "a head that is no list": `line.write(frame({}));`,
  "an unknown type": `line.write(frame(["other", id]));`,
  "lengths that are not the texts'": `line.write(frame(["ended", id, "ENDED_SUCCESS", null, 1, "sound", 9, -1], "1"));`,
  "a negative time": `line.write(frame(["ended", id, "ENDED_SUCCESS", null, -1, "sound", 1, -1], "1"));`,
  "an unknown condition": `line.write(frame(["ended", id, "ENDED_SUCCESS", null, 1, "other", 1, -1], "1"));`,
  "an unknown operation": `line.write(frame(["operation", 1, id, "other", "x", false, -1]));`,
  "a line of no known level": `line.write(frame(["log", id, 1, "loud"], "x"));`,
  "two thousand operations too many": `for (let n = 0; n < 4000; n += 1) line.write(frame(["operation", 7, id, "setting", "x", false, -1]));`,
  "operations, and reads no answer": `line.pause(); let n = 0; return new Promise((done) => setInterval(() => { for (let more = 5; more > 0; more -= 1) line.write(frame(["operation", (n += 1), id, "setting", "x", false, -1])); if (n > 3000) done(); }, 10));`,
  "an operation of an execution that it does not run": `line.write(frame(["operation", 1, "other", "setting", "x", false, -1]));`,
  "two failures of what it left behind": `for (let n = 0; n < 2; n += 1) line.write(frame(["stray", id], "Error: x"));`,
  "a failure that is too long": `line.write(frame(["stray", id], "x".repeat(5000)));`,
  "more lines than are kept": `for (let n = 0; n < 60; n += 1) line.write(frame(["log", id, 1, "info"], "line " + n));`,
  "nothing any more": `line.destroy();`,
};

for (const [name, act] of Object.entries(DAMAGES))
  test(`a thread that sends ${name} is ended, and nobody else's`, async () => {
    const spec = holding(`${act} return new Promise(() => {});`);
    assert.equal((await bench.run(spec)).output_value, "1");
    const beside = bench.run(other);
    const { status, status_message } = await bench.run(spec);
    assert.deepEqual([status, status_message], ["ENDED_ERROR", "The flow's thread was lost"]);
    assert.equal((await beside).output_value, '"here"');
    assert.equal((await bench.run(spec)).output_value, "1", "the next has a thread of its own");
  });

for (const said of [ENDED, '["log", id, 1, "info"], "mine"'])
  test(`what is said of somebody else's run ends who says it: ${said}`, async () => {
    const beside = bench.start(other);
    const spec = holding(`{ const id = input_value.other; line.write(frame(${said})); }`);
    assert.equal((await bench.run(spec)).output_value, "1");
    const input_value = JSON.stringify({ other: beside.id });
    const { status_message } = await bench.run(spec, { input_value });
    assert.equal(status_message, "The flow's thread was lost");
    assert.equal((await beside.ending).output_value, '"here"');
    assert.equal(bench.log(beside.id), "");
  });

test("a run ends once, however often that is said", async () => {
  const spec = holding(`line.write(frame(${ENDED})); line.write(frame(${ENDED}));`);
  assert.equal((await bench.run(spec)).output_value, "1");
  assert.equal((await bench.run(spec)).output_value, '"x"');
  assert.equal((await bench.run(other)).output_value, '"here"');
});

test("a flow that goes on after its end says and asks nothing that ends its thread", async () => {
  const spec = bench.flow(
    `let runs = 0; export default (flow) => { setInterval(() => { flow.log.info("late"); console.log("late"); flow.setting("x").catch(() => {}); }, 1); return (runs += 1); }`,
  );
  for (let run = 1; run <= 20; run += 1) {
    const { output_value } = await bench.run(spec);
    assert.equal(output_value, String(run));
    await new Promise((done) => setTimeout(done, 10));
  }
});

test("who connects without a token that is awaited is sent away", async () => {
  const [name = ""] = globSync("threads-*.sock", { cwd: bench.folder });
  const socket = connect(join(bench.folder, name));
  await once(socket, "connect");
  socket.write("0".repeat(32));
  await once(socket, "close");
  assert.equal((await bench.run(other)).output_value, '"here"');
});
