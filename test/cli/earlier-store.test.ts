import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { inspectDatabase } from "../../src/server/store/sqlite/damage.ts";
import { MIGRATIONS, POSTGRES_ONLY } from "../../src/server/store/migrations/migrations.ts";
import { runCommand } from "../blackbox/command.ts";
import { openTarget } from "../blackbox/target.ts";
import { makeOldStore } from "../store/old-store.ts";
import { all } from "./session.ts";

const target = openTarget();
const FIRST = ["0001-first", "0002-key-use"];
const LATEST = [...MIGRATIONS.keys()].filter((name) => !POSTGRES_ONLY.has(name));

describe("the store of an earlier version", { skip: target.skip ?? false }, () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-earlier-"));
    await mkdir(join(folder, "data"), { mode: 0o700 });
    await makeOldStore(join(folder, "data/flowhook.db"), () => {}, FIRST);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const run = (args: readonly string[], input = "") =>
    runCommand(target, args, { cwd: folder, input });

  function listApplied(): string[] {
    const path = join(folder, "data/flowhook.db");
    return inspectDatabase({ path, durability: "full", addon: null });
  }

  for (const group of ["user", "role"])
    test(`${group} list leaves it to the next start`, async () => {
      const finished = await run([group, "list"]);
      assert.deepEqual([finished.code, finished.stdout], [1, ""], all(finished));
      assert.match(
        finished.stderr,
        /^The database "\S+" is that of an earlier version: the next start of the service brings it up to date$/m,
      );
      assert.deepEqual(listApplied(), FIRST);
      const names = await readdir(join(folder, "data"));
      assert.deepEqual(
        names.filter((name) => name.includes(".before-")),
        [],
      );
    });

  test("a command that writes brings it up to date", async () => {
    const finished = await run(["user", "create", "ada"], "a password of ada 1815\n");
    assert.equal(finished.code, 0, all(finished));
    assert.deepEqual(listApplied(), LATEST);
    assert.match((await run(["user", "list"])).stdout, /^ada /m);
  });
});
