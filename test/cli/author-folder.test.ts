import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findConnection } from "../../src/cli/author-connection.ts";
import { readAuthorFolder } from "../../src/cli/author-folder.ts";

const isRoot = process.getuid?.() === 0;

test("a folder that cannot be listed is no folder of flows alone", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "flowhook-closed-")));
  try {
    await chmod(folder, isRoot ? 0o711 : 0o311);
    // Root may list all.
    if (isRoot) process.seteuid?.(12_345);
    assert.equal(readAuthorFolder(folder).config.PLUGINS_DIR, join(folder, "plugins"));
  } finally {
    if (isRoot) process.seteuid?.(0);
    await chmod(folder, 0o700);
    await rm(folder, { recursive: true });
  }
});

test("a data folder that is closed names no service", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "flowhook-closed-")));
  const data = join(folder, ".flowhook");
  try {
    await chmod(folder, 0o755);
    await mkdir(data);
    await chmod(data, isRoot ? 0o700 : 0o000);
    if (isRoot) process.seteuid?.(12_345);
    assert.equal(findConnection(folder), null);
  } finally {
    if (isRoot) process.seteuid?.(0);
    await chmod(data, 0o700);
    await rm(folder, { recursive: true });
  }
});
