import assert from "node:assert/strict";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { openTarget } from "../blackbox/target.ts";
import { childrenOf, openTestService, type TestService } from "./test-service.ts";

/** Code that somebody puts into DATA_DIR while the service runs: no later runner loads it. */

const PLANTED = `\nprocess.stdout.write("PLANTED");\n`;

const WRITTEN_AGAIN = /files in DATA_DIR: they are written again/;

async function killRunners(service: TestService): Promise<void> {
  const killed = childrenOf(service.pid);
  assert.ok(killed.length > 0);
  for (const pid of killed) process.kill(pid, "SIGKILL");
  while (childrenOf(service.pid).some((pid) => killed.includes(pid)))
    await service.api("GET", "/flow");
}

async function onlyEntry(folder: string): Promise<string> {
  const names = await readdir(folder);
  const [first] = names.filter((name) => !name.endsWith(".json"));
  return join(folder, first ?? "");
}

describe("planted code", () => {
  const deno = openTarget("deno");
  for (const name of ["deno.json", "package.json"])
    test(
      `a ${name} above the data folder configures no runner of Deno`,
      {
        skip: deno.skip ?? false,
      },
      async () => {
        const prepare = (directory: string) => writeFile(join(directory, name), "{ unfinished");
        const config = { SYNC_MODE: "hold" };
        await using service = await openTestService({
          target: deno,
          flows: ["echo"],
          config,
          prepare,
        });
        await service.createWebhook("echo", "echo", { is_productive: true });
        const answer = await service.call("echo");
        assert.equal(answer.status, 200, answer.text);
      },
    );

  test("L11: the program's own files are put right before a later runner starts", async () => {
    await using service = await openTestService({ flows: ["echo"], config: { SYNC_MODE: "hold" } });
    await service.createWebhook("echo", "echo", { is_productive: true });
    assert.equal((await service.call("echo")).status, 200);
    const runtime = await onlyEntry(join(service.data, "runtime"));
    const files = ["runner.cjs", "thread.cjs", "thread-program.js", "thread.cache"].map((name) =>
      join(runtime, name),
    );
    const before = await Promise.all(files.map((file) => readFile(file, "utf8")));
    for (const file of files) await appendFile(file, PLANTED);
    await killRunners(service);
    assert.equal((await service.call("echo")).status, 200);
    assert.deepEqual(await Promise.all(files.map((file) => readFile(file, "utf8"))), before);
    await poll("the log to say so", async () => WRITTEN_AGAIN.test(service.logs()) || null);
    assert.doesNotMatch(service.logs(), /PLANTED/);
  });

  test("L11: who stands in a folder of the program that was replaced starts no threads", async () => {
    await using service = await openTestService({ flows: ["echo"], config: { SYNC_MODE: "hold" } });
    await service.createWebhook("echo", "echo", { is_productive: true });
    await writeFile(join(await onlyEntry(join(service.data, "runtime")), "notes.txt"), "");
    await poll("the log to say so", async () => WRITTEN_AGAIN.test(service.logs()) || null);
    const answer = await service.call("echo");
    assert.equal(answer.status, 200, answer.text);
  });

  test("L11: a version whose files were changed is not run by a later runner", async () => {
    await using service = await openTestService({ flows: ["echo"], config: { SYNC_MODE: "hold" } });
    await service.createWebhook("echo", "echo", { is_productive: true });
    assert.equal((await service.call("echo")).status, 200);
    const version = await onlyEntry(join(service.data, "versions", "echo"));
    const file = join(version, "echo.ts");
    await writeFile(file, PLANTED + (await readFile(file, "utf8")));
    await killRunners(service);
    const answer = await service.call("echo");
    assert.equal(answer.status, 500);
    assert.match(answer.text, /were changed by somebody/);
    await service.api("POST", "/flow/reload");
    assert.equal((await service.call("echo")).status, 200);
    assert.doesNotMatch(service.logs(), /PLANTED/);
  });
});
