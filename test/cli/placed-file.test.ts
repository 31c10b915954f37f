import assert from "node:assert/strict";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { placeFile, placeNewFile } from "../../src/cli/install/placed-file.ts";

test("a file of an installation is there whole, or as it was", () => {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-placed-"));
  try {
    const path = join(folder, "flowhook.yaml");
    const full = () =>
      placeFile(path, (beside) => {
        writeFileSync(beside, "half of");
        throw new Error("ENOSPC");
      });
    assert.throws(full, /^Error: ENOSPC$/);
    assert.deepEqual(readdirSync(folder), []);
    placeFile(path, (beside) => writeFileSync(beside, "all of it"));
    assert.throws(full, /^Error: ENOSPC$/);
    assert.deepEqual(readdirSync(folder), ["flowhook.yaml"]);
    assert.equal(readFileSync(path, "utf8"), "all of it");
    const away = join(folder, "link");
    symlinkSync(join(folder, "away"), away);
    const replace = () => placeNewFile(away, (beside) => writeFileSync(beside, "other"));
    assert.throws(replace, { code: "EEXIST" });
    const other = join(folder, "of-another");
    symlinkSync(other, `${path}.new`);
    placeFile(path, (beside) => writeFileSync(beside, "changed", { flag: "wx" }));
    placeNewFile(join(folder, "new"), (beside) => writeFileSync(beside, "first"));
    assert.deepEqual(readdirSync(folder).sort(), ["flowhook.yaml", "link", "new"]);
    assert.equal(readFileSync(path, "utf8"), "changed");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
