import assert from "node:assert/strict";
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runProgram } from "./command.ts";
import { poll } from "./scenario.ts";
import { launch, terminate, type Running } from "./service.ts";
import { environment, findProgram, openTarget, type Target } from "./target.ts";

const given = openTarget();
const missing = findProgram("curl") === null ? "no curl on this machine" : false;

const EXAMPLES = [
  "callback",
  "failing",
  "fetch-handler",
  "github-push",
  "hello",
  "notification",
  "public-form",
  "slow",
  "status-page",
];

/** Nothing of this machine but its own programs: the binary must need no other runtime. */
const BARE = { PATH: "/usr/bin:/bin" };
const SETTINGS = { FLOWHOOK_LISTEN_PORT: "0", FLOWHOOK_LOG_FORMAT: "json" };

describe(`serve --demo in an empty folder (${given.name})`, { skip: given.skip ?? missing }, () => {
  let directory: string;
  let running: Running;
  let target: Target;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "flowhook-demo-"));
    target = await aloneIn(directory);
    running = await start();
  });
  after(async () => {
    await terminate(running.child);
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  });

  async function start(): Promise<Running> {
    const env = given.name === "binary" ? { ...BARE, ...SETTINGS } : environment(SETTINGS);
    const started = await launch(target, directory, ["serve", "--demo"], env);
    await poll("a curl line for each example", async () =>
      curlLines(started.logs()).length >= EXAMPLES.length ? true : null,
    );
    return started;
  }

  test("prints a curl line for each example flow, and the administrator's password", async () => {
    const lines = curlLines(running.logs());
    for (const flow of EXAMPLES) {
      assert.ok(
        lines.some((line) => line.includes(`/${flow}/call`)),
        `no line for "${flow}":\n${running.logs()}`,
      );
    }
    assert.match(running.logs(), /password/i);
    const plugins = await readdir(join(directory, "plugins"));
    for (const flow of EXAMPLES) assert.ok(plugins.includes(`${flow}.ts`), plugins.join(" "));
  });

  for (const flow of EXAMPLES) {
    test(`the line of ${flow} is answered`, async () => {
      const lines = linesOf(running.logs(), flow);
      assert.notEqual(lines.length, 0);
      for (const line of lines) await assertAnswered(line, flow, directory);
    });
  }

  test("a second start prints the lines again, and no key and password", async () => {
    const before = running.logs();
    assert.equal(await terminate(running.child), 0);
    running = await start();
    const lines = curlLines(running.logs());
    assert.equal(lines.length, curlLines(before).length);
    assert.doesNotMatch(running.logs(), /password/i);
    await assertAnswered(linesOf(running.logs(), "hello")[0] ?? "", "hello", directory);
  });
});

describe(
  `serve --demo in a folder with flows (${given.name})`,
  { skip: given.skip ?? false },
  () => {
    test("says that it wrote no examples, and what to do", async () => {
      const directory = await mkdtemp(join(tmpdir(), "flowhook-demo-"));
      await mkdir(join(directory, "plugins"));
      await writeFile(join(directory, "plugins/own.ts"), "export default () => 1;\n");
      const running = await launch(given, directory, ["serve", "--demo"], environment(SETTINGS));
      try {
        await poll("a word on the examples", async () =>
          /^Run flowhook serve --demo in an empty folder/m.test(running.logs()) ? true : null,
        );
        assert.match(running.logs(), /^No example flows were written: ".*plugins" is not empty/m);
        assert.doesNotMatch(running.logs(), /Try the example flows/);
        assert.deepEqual(await readdir(join(directory, "plugins")), ["own.ts"]);
      } finally {
        await terminate(running.child);
        await rm(directory, { recursive: true, force: true, maxRetries: 3 });
      }
    });
  },
);

/** The binary is copied and runs alone; the other targets run from where they are. */
async function aloneIn(directory: string): Promise<Target> {
  if (given.name !== "binary") return given;
  const copy = join(directory, "flowhook");
  await copyFile(given.command[0], copy);
  return { ...given, command: [copy] };
}

/** Lines of commands, as a person would copy them from the screen. */
function curlLines(printed: string): string[] {
  return printed.split("\n").flatMap((line) => /^\s*(curl .*?)\s*$/.exec(line)?.[1] ?? []);
}

function linesOf(printed: string, flow: string): string[] {
  return curlLines(printed).filter((line) => line.includes(`/${flow}/call`));
}

async function assertAnswered(line: string, flow: string, cwd: string): Promise<void> {
  const silent = line.replace(/^curl /, "curl -sS -w '\\n%{http_code}' ");
  const { code, stdout, stderr } = await runProgram("/bin/sh", ["-c", silent], { cwd, env: BARE });
  assert.equal(code, 0, `${line}\n${stderr}`);
  const status = Number(stdout.slice(stdout.lastIndexOf("\n") + 1));
  if (flow === "failing") assert.equal(status, 500, `${line}\n${stdout}`);
  else assert.ok(status >= 200 && status < 300, `${line}\n${stdout}`);
}
