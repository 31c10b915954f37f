import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { readAsset } from "../../src/assets/read.ts";
import { openCheck, removeOthers, unpack, type Unpacking } from "../../src/assets/unpack.ts";

const content = Buffer.from(readAsset("default-styling.css"));
const digest = createHash("sha256").update(content).digest("hex");

let data: string;
let unpacking: Unpacking;

beforeEach(() => {
  data = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-unpack-")));
  const asset = "default-styling.css";
  const files = ["a.css", "b.css"].map((name) => ({ asset, name, digest }));
  unpacking = { parent: join(data, "data/runtime"), version: "1.2.3", files };
});

afterEach(() => rmSync(data, { recursive: true, force: true }));

function assertWhole(folder: string): void {
  assert.deepEqual(readdirSync(folder).sort(), ["a.css", "b.css"]);
  assert.deepEqual(readFileSync(join(folder, "b.css")), content);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(unpacking.parent), [basename(folder)]);
}

describe("unpack", () => {
  test("makes a private folder named by version and contents", () => {
    const folder = unpack(unpacking);
    assert.match(basename(folder), /^1\.2\.3-[0-9a-f]{16}$/);
    assertWhole(folder);
    assert.equal(statSync(join(data, "data")).mode & 0o777, 0o700);
  });

  test("leaves a folder that is whole as it is", () => {
    const before = statSync(unpack(unpacking)).ino;
    assert.equal(statSync(unpack(unpacking)).ino, before);
  });

  test("names other contents otherwise", () => {
    const [first] = unpacking.files;
    const other = unpack({ ...unpacking, files: [first!] });
    assert.notEqual(other, unpack(unpacking));
  });

  const damages: Record<string, (folder: string) => void> = {
    "a file is missing": (folder) => rmSync(join(folder, "a.css")),
    "a file is half written": (folder) => writeFileSync(join(folder, "a.css"), content.subarray(9)),
    "a file is altered": (folder) => writeFileSync(join(folder, "a.css"), content.toReversed()),
    "a file was added": (folder) => writeFileSync(join(folder, "c.css"), ""),
    "a file is a link": (folder) => {
      rmSync(join(folder, "a.css"));
      symlinkSync(join(folder, "b.css"), join(folder, "a.css"));
    },
    "others may write it": (folder) => chmodSync(folder, 0o777),
    "it is empty": (folder) => {
      rmSync(folder, { recursive: true });
      mkdirSync(folder);
    },
    "it is a file": (folder) => {
      rmSync(folder, { recursive: true });
      writeFileSync(folder, "");
    },
    "it is a link to elsewhere": (folder) => {
      const elsewhere = join(data, "elsewhere");
      rmSync(folder, { recursive: true });
      mkdirSync(elsewhere);
      symlinkSync(elsewhere, folder);
    },
    "it is a link to nowhere": (folder) => {
      rmSync(folder, { recursive: true });
      symlinkSync(join(data, "nowhere"), folder);
    },
  };

  for (const [name, damage] of Object.entries(damages)) {
    test(`L11: a later check replaces the folder where ${name}`, () => {
      const folder = unpack(unpacking);
      const check = openCheck(unpacking, folder);
      assert.equal(check(), false);
      damage(folder);
      assert.equal(check(), true);
      assertWhole(folder);
      assert.equal(check(), false);
    });

    test(`replaces the folder where ${name}`, () => {
      const folder = unpack(unpacking);
      damage(folder);
      assert.equal(unpack(unpacking), folder);
      assertWhole(folder);
    });
  }
});

test("L11: a check sees a content that was changed with its size and time kept", () => {
  const folder = unpack(unpacking);
  const check = openCheck(unpacking, folder);
  const file = join(folder, "a.css");
  const { atime, mtime } = statSync(file);
  writeFileSync(file, content.toReversed());
  utimesSync(file, atime, mtime);
  assert.equal(check(), true);
  assert.deepEqual(readFileSync(file), content);
});

test("L11: a check of files that were touched alone leaves them", () => {
  const folder = unpack(unpacking);
  const check = openCheck(unpacking, folder);
  utimesSync(join(folder, "a.css"), 0, 0);
  const { ino } = statSync(folder);
  assert.equal(check(), false);
  assert.equal(statSync(folder).ino, ino);
});

test("a check tells of a folder that is as whole, and another one", () => {
  const folder = unpack(unpacking);
  const check = openCheck(unpacking, folder);
  renameSync(folder, join(data, "away"));
  assert.equal(check(), true);
  rmSync(folder, { recursive: true });
  renameSync(join(data, "away"), folder);
  assert.equal(check(), true, "the first one is back");
  assert.equal(check(), false);
  assertWhole(folder);
});

test("what cannot be written whole takes nothing of the disk", () => {
  const files = [...unpacking.files, { asset: "nothing of that name", name: "c", digest }];
  assert.throws(() => unpack({ ...unpacking, files }));
  assert.deepEqual(readdirSync(unpacking.parent), []);
});

test("what a process has left that was killed goes first, and what one writes stays", () => {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  mkdirSync(unpacking.parent, { recursive: true });
  const nameOf = (id: number, end: string): string => `.unpack-${id}-${end}`;
  const writing = [pid, process.pid, process.ppid].map((id) => nameOf(id, "writing"));
  const [left, own, other] = [pid, process.pid, process.ppid].map((id) => nameOf(id, "still"));
  const before = Date.now() / 1000 - 20;
  for (const name of [...writing, left!, own!, other!]) mkdirSync(join(unpacking.parent, name));
  for (const name of [left, own, other]) utimesSync(join(unpacking.parent, name!), before, before);
  const folder = basename(unpack(unpacking));
  const found = new Set(readdirSync(unpacking.parent));
  assert.deepEqual(found, new Set([...writing, other, folder]));
});

describe("removeOthers", () => {
  test("removes other versions and what an interrupted start left", () => {
    const folder = unpack(unpacking);
    unpack({ ...unpacking, version: "1.2.2" });
    const left = join(unpacking.parent, ".unpack-left");
    mkdirSync(left);
    utimesSync(left, 0, 0);
    removeOthers(unpacking);
    assertWhole(folder);
  });

  test("keeps what somebody else has put there", () => {
    unpack(unpacking);
    const theirs = ["app.jar", "1.2.2", ".profile", "node-0123456789abcdef"];
    for (const name of theirs) writeFileSync(join(unpacking.parent, name), "");
    removeOthers(unpacking);
    const found = readdirSync(unpacking.parent);
    assert.deepEqual(
      theirs.filter((name) => !found.includes(name)),
      [],
    );
  });

  test("keeps what another process may be unpacking", () => {
    unpack(unpacking);
    mkdirSync(join(unpacking.parent, ".unpack-now"));
    removeOthers(unpacking);
    assert.ok(readdirSync(unpacking.parent).includes(".unpack-now"));
  });
});
