import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { runCommand } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { launch, terminate } from "../blackbox/service.ts";
import { environment } from "../blackbox/target.ts";
import { findPort } from "../free-port.ts";
import { childrenOf, faultsTarget, openTestService, type TestService } from "./test-service.ts";

/** What the single binary obeys of the environment that it is started in, and of signals. */

const target = faultsTarget();
const isBinary = target.name === "binary";

if (isBinary)
  describe("L14: the environment of the binary", () => {
    let folder = "";
    let mark = "";
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), "flowhook-environment-"));
      mark = join(folder, "was-run");
      const code = `require("node:fs").writeFileSync(${JSON.stringify(mark)}, "");\n`;
      await writeFile(join(folder, "planted.cjs"), code);
      const module = code.replace("require", "process.getBuiltinModule");
      await writeFile(join(folder, "planted.mjs"), module);
      await writeFile(join(folder, "flowhook.yaml"), "LISTEN_PORT: 0\nLOG_FORMAT: json\n");
    });
    after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));

    const options = (): Readonly<Record<string, string>> => ({
      "--require": `--require ${join(folder, "planted.cjs")}`,
      "-r": `-r ${join(folder, "planted.cjs")}`,
      "--import": `--import ${pathToFileURL(join(folder, "planted.mjs")).href}`,
      "--loader": `--experimental-loader ${pathToFileURL(join(folder, "planted.mjs")).href}`,
      "an unknown one": "--no-such-option",
    });
    for (const name of ["--require", "-r", "--import", "--loader", "an unknown one"])
      test(`L14: ${name} in NODE_OPTIONS is not obeyed`, async () => {
        const env = { NODE_OPTIONS: options()[name] ?? "" };
        const finished = await runCommand(target, ["version"], { cwd: folder, env });
        assert.deepEqual([finished.code, finished.stderr], [0, ""]);
        assert.ok(!existsSync(mark), "planted code was run by a command");
        const running = await launch(target, folder, ["serve"], environment(env));
        await terminate(running.child);
        assert.ok(!existsSync(mark), "planted code was run by the service");
      });

    test("L14: nor is a debugger that NODE_OPTIONS asks for", async () => {
      const port = await findPort();
      const env = environment({ NODE_OPTIONS: `--inspect=127.0.0.1:${port}` });
      const running = await launch(target, folder, ["serve"], env);
      const asked = await fetch(`http://127.0.0.1:${port}/json/version`).catch(() => null);
      await terminate(running.child);
      assert.equal(asked, null);
      assert.doesNotMatch(running.logs(), /Debugger listening/);
    });
  });

if (isBinary)
  test("L14: SIGUSR1 opens no debugger, and ends nothing", async () => {
    await using service = await openTestService({ flows: ["echo"] });
    await service.createWebhook("echo", "echo");
    await service.call("echo", "?async");
    const runners = await readyRunners(service);
    for (const pid of [service.pid, ...runners]) process.kill(pid, "SIGUSR1");
    await service.assertAlive();
    const answer = await service.call("echo");
    assert.ok([200, 303].includes(answer.status), answer.text);
    await assert.rejects(fetch("http://127.0.0.1:9229/json/version"));
    const left = childrenOf(service.pid);
    assert.ok(
      runners.every((pid) => left.includes(pid)),
      "no runner has ended",
    );
    assert.doesNotMatch(service.logs(), /Debugger listening/);
  });

/** That of the first use and its spare, once they have told of themselves: a process that begins has no say. */
function readyRunners(service: TestService): Promise<number[]> {
  return poll("two runners", async () => {
    const { text } = await service.api("GET", "/workspace");
    const { runners } = JSON.parse(text) as {
      runners: { processes: { rss_bytes: number }[] };
    };
    const ready = runners.processes.filter((one) => one.rss_bytes > 0);
    const all = service.runners();
    return ready.length >= 2 && ready.length === all.length ? all : null;
  });
}
