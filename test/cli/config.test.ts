import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CONFIG_KEYS } from "../../src/server/config/schema.ts";
import { runCommand } from "../blackbox/command.ts";
import { openTarget } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();
const KEY = "c0ffee00".repeat(8);

describe("config", { skip: target.skip ?? false }, () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-config-"));
    await writeFile(
      join(folder, "flowhook.yaml"),
      "LISTEN_PORT: 9000\n\nDATA_DIR: here\nLOG_LEVEL: debug\n",
    );
    await writeFile(join(folder, "password"), "a secret of nobody else\n");
    await writeFile(join(folder, "level"), "warn\n");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const env = () => ({
    FLOWHOOK_LISTEN_HOST: "::1",
    FLOWHOOK_LOG_LEVEL_FILE: join(folder, "level"),
    FLOWHOOK_ADMIN_PASSWORD_FILE: join(folder, "password"),
    FLOWHOOK_DATA_KEY: KEY,
  });

  async function print(...args: string[]): Promise<string> {
    const finished = await runCommand(target, ["config", ...args], { cwd: folder, env: env() });
    assert.equal(finished.code, 0, all(finished));
    assert.doesNotMatch(all(finished), /a secret of nobody/);
    assert.ok(!all(finished).includes(KEY));
    return finished.stdout;
  }

  test("each key, its value and where that came from", async () => {
    const text = await print();
    const lines = text.split("\n").map((line) => line.replace(/ {2,}/g, " | "));
    assert.equal(lines[0], `Configuration file: ${join(folder, "flowhook.yaml")}`);
    for (const line of [
      "LISTEN_HOST | ::1 | FLOWHOOK_LISTEN_HOST",
      "LISTEN_PORT | 9000 | flowhook.yaml:1",
      `DATA_DIR | ${join(folder, "here")} | flowhook.yaml:3`,
      "LOG_LEVEL | warn | FLOWHOOK_LOG_LEVEL_FILE, not flowhook.yaml:4",
      "RETENTION_DAYS | 30 | default",
      "DATA_KEY | (hidden) | FLOWHOOK_DATA_KEY",
      "ADMIN_PASSWORD | (hidden) | FLOWHOOK_ADMIN_PASSWORD_FILE",
    ])
      assert.ok(lines.includes(line), `${line}\n${text}`);
  });

  test("for scripts: every key, in the order of the documentation", async () => {
    const { file, items } = JSON.parse(await print("--json"));
    assert.equal(file, join(folder, "flowhook.yaml"));
    assert.deepEqual(
      items.map(({ key }: { key: string }) => key),
      [...CONFIG_KEYS, "ADMIN_PASSWORD"],
    );
    const level = items.find(({ key }: { key: string }) => key === "LOG_LEVEL");
    const place = "FLOWHOOK_LOG_LEVEL_FILE";
    const overrides = `${join(folder, "flowhook.yaml")}:4`;
    assert.deepEqual(level, {
      key: "LOG_LEVEL",
      value: "warn",
      source: "environment",
      place,
      overrides,
    });
    assert.deepEqual(items.at(-1), {
      key: "ADMIN_PASSWORD",
      value: null,
      overrides: null,
      source: "environment",
      place: "FLOWHOOK_ADMIN_PASSWORD_FILE",
    });
  });

  test("a wrong one: what is wrong with it, exit code 78", async () => {
    await writeFile(join(folder, "wrong.yaml"), "LISTEN_PORT: many\n");
    const finished = await runCommand(target, ["config", "--config", "wrong.yaml"], {
      cwd: folder,
    });
    assert.deepEqual([finished.code, finished.stdout], [78, ""], all(finished));
    assert.match(finished.stderr, /wrong\.yaml:1: Found "many"/);
  });
});
