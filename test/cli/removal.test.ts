import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { planRemoval } from "../../src/cli/install/removal.ts";
import { loadConfig } from "../../src/server/config/load.ts";

const root = mkdtempSync(join(tmpdir(), "flowhook-removal-"));
after(() => rmSync(root, { recursive: true, force: true }));

const FILES = {
  data: ["secret.key", "lock.db", "notes.txt"],
  base: [
    "hooks",
    "hooks-wal",
    "hooks-ledger-1",
    "hooks.before-0003-key-17",
    "hooks.mine",
    "hooks2",
  ],
};

test("--purge removes what the service keeps, and nothing that lies beside it", async () => {
  for (const [folder, names] of Object.entries(FILES)) {
    for (const name of ["versions", "runtime"])
      mkdirSync(join(root, folder, name), { recursive: true });
    for (const name of names) writeFileSync(join(root, folder, name), "");
  }
  const env = {
    FLOWHOOK_DATA_DIR: join(root, "data"),
    FLOWHOOK_DATABASE_URL: `sqlite:${join(root, "base/hooks")}`,
  };
  const { config } = loadConfig({ env, cwd: root });
  const steps = planRemoval(config, true).filter(({ what }) => what.includes(root));
  assert.equal(steps.length, 2);
  for (const step of steps) {
    assert.equal(step.isDone(), false);
    await step.act();
    assert.equal(step.isDone(), true);
  }
  assert.deepEqual(readdirSync(join(root, "data")), ["notes.txt"]);
  assert.deepEqual(readdirSync(join(root, "base")).sort(), [
    "hooks.mine",
    "hooks2",
    "runtime",
    "versions",
  ]);
});
