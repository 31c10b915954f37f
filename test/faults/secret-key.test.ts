import assert from "node:assert/strict";
import { cp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runCommand } from "../blackbox/command.ts";
import { openHouse, type House } from "./house.ts";

/** Secrets without the key that they were encrypted with. */

const FLOW = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { secrets: ["S1", "S2", "S3"] },
  run: async (flow) => ({ length: (await flow.secret(flow.input_value.name)).length }),
});
`;

async function openWithSecrets(stack: AsyncDisposableStack): Promise<House> {
  const house = stack.use(await openHouse({ files: { "reading.ts": FLOW } }));
  for (const name of ["S1", "S2", "S3"]) {
    const made = await house.api("POST", "/secret", { name, value: `the value of ${name}` });
    assert.equal(made.status, 201, made.text);
  }
  return house;
}

/** How an execution that reads a secret ended, as `flow run` tells. */
async function read(house: House, name: string): Promise<{ status: string; message: string }> {
  const input_value = { name };
  const started = await house.api("POST", "/flow/reading/execution", { input_value });
  const { id } = JSON.parse(started.text) as { id: string };
  for (;;) {
    const answer = await house.api("GET", `/execution/${id}/wait`);
    if (answer.status !== 200) continue;
    const { status, status_message } = JSON.parse(answer.text) as Record<string, string | null>;
    return { status: String(status), message: String(status_message) };
  }
}

describe("12: secrets without their key", () => {
  test("12: the start says how many, a flow which, and putting the key back mends it", async () => {
    await using stack = new AsyncDisposableStack();
    const house = await openWithSecrets(stack);
    await house.stop();
    const kept = join(house.directory, "kept.key");
    await rename(join(house.data, "secret.key"), kept);
    await house.start();
    assert.match(
      house.logs(),
      /"level":40,.*3 secrets were encrypted with another key: put secret\.key back/,
    );
    const failed = await read(house, "S1");
    assert.equal(failed.status, "ENDED_ERROR");
    const says = 'Cannot read secret "S1": it was encrypted with another key. Put secret.key back';
    assert.ok(failed.message.endsWith(says), failed.message);
    assert.doesNotMatch(house.logs(), /Unsupported state/);

    await house.api("PATCH", "/secret/S2", { value: "set anew" });
    assert.equal((await read(house, "S2")).status, "ENDED_SUCCESS");
    await house.stop();
    const said = house.logs().length;
    await house.start();
    assert.match(house.logs().slice(said), /2 secrets were encrypted with another key/);

    await house.stop();
    await cp(kept, join(house.data, "secret.key"));
    const before_it = house.logs().length;
    await house.start();
    assert.match(house.logs().slice(before_it), /1 secret was encrypted with another key/);
    assert.equal((await read(house, "S1")).status, "ENDED_SUCCESS");
  });

  test("12: a restore on a machine that never had the key", async () => {
    await using stack = new AsyncDisposableStack();
    const house = await openWithSecrets(stack);
    const backup = join(house.directory, "backup.db");
    const made = await runCommand(house.target, ["backup", backup], { cwd: house.directory });
    assert.equal(made.code, 0, made.stderr);
    const other = stack.use(await openHouse({ start: false }));
    const restored = await runCommand(house.target, ["restore", backup], { cwd: other.directory });
    assert.equal(restored.code, 0, restored.stderr);
    await other.start();
    assert.match(other.logs(), /3 secrets were encrypted with another key: put secret\.key back/);
  });

  test("12: a key file that is cut off is told in one line, and stays as it is", async () => {
    await using stack = new AsyncDisposableStack();
    const house = await openWithSecrets(stack);
    await house.stop();
    const file = join(house.data, "secret.key");
    await writeFile(file, "00ff");
    const finished = await runCommand(house.target, ["serve"], { cwd: house.directory });
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^Cannot use the key file ".+secret\.key": expected 64 .+\n$/);
    await rm(file);
    await writeFile(`${file}.new`, "00ff");
    await house.start();
    assert.match(house.logs(), /3 secrets were/, "half a key of a start that was killed is no key");
  });
});
