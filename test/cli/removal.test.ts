import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { hasUsers } from "../../src/cli/install/installation.ts";
import { planRemoval } from "../../src/cli/install/removal.ts";
import { loadConfig } from "../../src/server/config/load.ts";

const root = mkdtempSync(join(tmpdir(), "flowhook-removal-"));
after(() => rmSync(root, { recursive: true, force: true }));

const FILES = {
  data: ["secret.key", "lock.db", "lock.db-journal", "notes.txt"],
  base: [
    "hooks",
    "hooks-parted",
    "hooks-wal",
    "hooks-ledger-1",
    "hooks-lock",
    "hooks-lock-journal",
    "hooks.before-0003-key-17",
    "hooks.before-restore-17-ledger-0",
    "hooks.restoring",
    "hooks.restoring-journal",
    "hooks.moving",
    "hooks.moving-wal",
    "hooks.moving-shm",
    "hooks.mine",
    "hooks.restoring.mine",
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
  const steps = planRemoval(config).filter(({ what }) => what.includes(root));
  assert.equal(steps.length, 2);
  for (const step of steps) {
    assert.equal(step.isDone(), false);
    await step.act();
    assert.equal(step.isDone(), true);
  }
  assert.deepEqual(readdirSync(join(root, "data")), ["notes.txt"]);
  assert.deepEqual(readdirSync(join(root, "base")).sort(), [
    "hooks.mine",
    "hooks.restoring.mine",
    "hooks2",
    "runtime",
    "versions",
  ]);
});

test("the users of a database that another node has made keep their passwords", () => {
  const env = { FLOWHOOK_DATABASE_URL: "postgres://flowhook@127.0.0.1/flowhook" };
  const { config } = loadConfig({ env, cwd: root });
  const printing = (text: string) => [process.execPath, "-e", `console.log('${text}')`, "--"];
  assert.equal(hasUsers(printing("[]"), config), false);
  assert.equal(hasUsers(printing('[{"name":"admin"}]'), config), true);
  const many = `require("node:fs").writeSync(1, JSON.stringify([{ name: "a".repeat(2e6) }]))`;
  assert.equal(hasUsers([process.execPath, "-e", many, "--"], config), true);
  assert.equal(hasUsers(["/nothing/there"], config), null, "it cannot be told");
});
