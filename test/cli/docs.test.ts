import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { NOTICES } from "../../scripts/notices.ts";
import { listPages } from "../../src/assets/manual.ts";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { openTarget, ROOT } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();

describe("docs and licenses", { skip: target.skip ?? false, concurrency: 2 }, () => {
  function run(...args: string[]): Promise<Finished> {
    return runCommand(target, args, { cwd: tmpdir() });
  }

  test("docs lists every page with one line", async () => {
    const finished = await run("docs");
    assert.equal(finished.code, 0, all(finished));
    for (const { name, summary } of listPages())
      assert.match(finished.stdout, new RegExp(`^${name} +${summary.replace(/[/.]/g, ".")}$`, "m"));
    const listed = JSON.parse((await run("docs", "--json")).stdout) as { name: string }[];
    assert.deepEqual(
      listed.map(({ name }) => name),
      listPages().map(({ name }) => name),
    );
  });

  test("docs TOPIC prints the page", async () => {
    const finished = await run("docs", "flows");
    assert.equal(finished.code, 0, all(finished));
    assert.equal(finished.stdout, readFileSync(join(ROOT, "src/assets/docs/flows.md"), "utf8"));
    const page = JSON.parse((await run("docs", "Errors", "--json")).stdout) as { text: string };
    assert.match(page.text, /^# Errors\n[^]*`queue_full`/);
  });

  test("docs of a page that is not there names the nearest and all of them", async () => {
    const finished = await run("docs", "webhoks");
    assert.deepEqual([finished.code, finished.stdout], [2, ""], all(finished));
    assert.match(finished.stderr, /There is no page "webhoks"\. Did you mean "webhooks"\?/);
    for (const { name } of listPages()) assert.ok(finished.stderr.includes(name), name);
  });

  test("docs --search prints the sections that have the words", async () => {
    const found = await run("docs", "--search", "backup secret.key");
    assert.equal(found.code, 0, all(found));
    assert.match(found.stdout, /^backup: Backup\n {2}\S/m);
    const none = await run("docs", "flows", "--search", "nginx");
    assert.deepEqual([none.code, none.stdout], [1, ""], all(none));
  });

  test("the flows in the pages load as they stand there", async () => {
    const folder = await mkdtemp(join(tmpdir(), "flowhook-pages-"));
    await mkdir(join(folder, "plugins"));
    const flows = listPages().flatMap(({ name, text }) =>
      [...text.matchAll(/^```ts\n((?:(?!```)[^])*?from "flowhook"[^]*?)^```/gm)].map(
        ([, code], at) => ({ name: `${name}-${at}`, code: code! }),
      ),
    );
    assert.ok(flows.length >= 7, `${flows.length} flows`);
    for (const { name, code } of flows) await writeFile(join(folder, `plugins/${name}.ts`), code);
    // What a page has its reader allow.
    const allowed = "/var/spool/deploy";
    const env = { FLOWHOOK_ALLOW_READ: allowed, FLOWHOOK_ALLOW_WRITE: allowed };
    const finished = await runCommand(target, ["check"], { cwd: folder, env });
    assert.equal(finished.code, 0, all(finished));
    for (const { name } of flows)
      assert.match(finished.stdout, new RegExp(`^${name} +ready$`, "m"), all(finished));
    await rm(folder, { recursive: true });
  });

  test("licenses prints the notices", async () => {
    const finished = await run("licenses");
    assert.equal(finished.code, 0, all(finished));
    assert.ok(finished.stdout === readFileSync(NOTICES, "utf8"));
  });
});
