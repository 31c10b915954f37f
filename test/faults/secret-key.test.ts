import assert from "node:assert/strict";
import { cp, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runCommand } from "../blackbox/command.ts";
import { openTestService, type TestService } from "./test-service.ts";

/** Secrets without the key that they were encrypted with. */

const FLOW = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { secrets: ["S1", "S2", "S3"] },
  run: async (flow) => ({ length: (await flow.secret(flow.input_value.name)).length }),
});
`;

async function openWithSecrets(stack: AsyncDisposableStack): Promise<TestService> {
  const service = stack.use(await openTestService({ files: { "reading.ts": FLOW } }));
  for (const name of ["S1", "S2", "S3"]) {
    const made = await service.api("POST", "/secret", { name, value: `the value of ${name}` });
    assert.equal(made.status, 201, made.text);
  }
  return service;
}

/** How an execution that reads a secret ended, as `flow run` tells. */
async function read(
  service: TestService,
  name: string,
): Promise<{ status: string; message: string }> {
  const input_value = { name };
  const started = await service.api("POST", "/flow/reading/execution", { input_value });
  assert.equal(started.status, 201, started.text);
  const { id } = JSON.parse(started.text) as { id: string };
  for (;;) {
    const answer = await service.api("GET", `/execution/${id}/wait`);
    if (answer.status === 302) continue;
    assert.equal(answer.status, 200, answer.text);
    const { status, status_message } = JSON.parse(answer.text) as Record<string, string | null>;
    return { status: String(status), message: String(status_message) };
  }
}

describe("12: secrets without their key", () => {
  test("12: the start says how many, a flow which, and putting the key back mends it", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openWithSecrets(stack);
    await service.stop();
    const kept = join(service.directory, "kept.key");
    await rename(join(service.data, "secret.key"), kept);
    await service.start();
    assert.match(
      service.logs(),
      /"level":"warn",.*3 secrets were encrypted with another key: put secret\.key back/,
    );
    const failed = await read(service, "S1");
    assert.equal(failed.status, "ENDED_ERROR");
    const says = 'Cannot read secret "S1": it was encrypted with another key. Put secret.key back';
    assert.ok(failed.message.endsWith(says), failed.message);
    assert.equal(failed.message.split("Cannot read secret").length, 2, "said once");
    assert.doesNotMatch(service.logs(), /Unsupported state/);

    await service.api("PATCH", "/secret/S2", { value: "set anew" });
    assert.equal((await read(service, "S2")).status, "ENDED_SUCCESS");
    await service.stop();
    const said = service.logs().length;
    await service.start();
    assert.match(service.logs().slice(said), /2 secrets were encrypted with another key/);

    await service.stop();
    await cp(kept, join(service.data, "secret.key"));
    const before_it = service.logs().length;
    await service.start();
    assert.match(service.logs().slice(before_it), /1 secret was encrypted with another key/);
    assert.equal((await read(service, "S1")).status, "ENDED_SUCCESS");
  });

  test("12: a restore on a machine that never had the key", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openWithSecrets(stack);
    const backup = join(service.directory, "backup.db");
    const made = await runCommand(service.target, ["backup", backup], { cwd: service.directory });
    assert.equal(made.code, 0, made.stderr);
    const other = stack.use(await openTestService({ start: false }));
    const restored = await runCommand(service.target, ["restore", backup], {
      cwd: other.directory,
    });
    assert.equal(restored.code, 0, restored.stderr);
    await other.start();
    assert.match(other.logs(), /3 secrets were encrypted with another key: put secret\.key back/);
  });

  test("12: a key file that is cut off is told in one line, and stays as it is", async () => {
    await using stack = new AsyncDisposableStack();
    const service = await openWithSecrets(stack);
    await service.stop();
    const file = join(service.data, "secret.key");
    for (const content of ["00ff", "xyz", ""]) {
      await writeFile(file, content);
      const finished = await runCommand(service.target, ["serve"], { cwd: service.directory });
      assert.equal(finished.code, 78, "no unit starts it again and again");
      assert.match(finished.stderr, /^Cannot use the key file ".+secret\.key": expected 64 .+\n$/);
    }
    await rm(file);
    await writeFile(`${file}.new`, "00ff");
    await service.start();
    assert.match(
      service.logs(),
      /3 secrets were/,
      "half a key of a start that was killed is no key",
    );
  });
});
