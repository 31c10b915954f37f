import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isTaken, takeLock, type Locked } from "../../src/server/store/sqlite/lock.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "flowhook-lock-")));
after(() => rmSync(root, { recursive: true, force: true }));

const [one, other, shared] = ["one", "other", "shared"].map((name) => join(root, name)) as [
  string,
  string,
  string,
];
for (const folder of [one, other, shared]) mkdirSync(folder);
symlinkSync(shared, join(root, "link"));
writeFileSync(join(shared, "real.db"), "");
symlinkSync(join(shared, "real.db"), join(other, "linked.db"));

const at = (dataDir: string, database: string | null): Locked => ({ dataDir, database });

/** Who has it, who comes, and why that one may not; null: it may. */
const ROWS: Readonly<Record<string, [has: Locked, comes: Locked, says: RegExp | null]>> = {
  "one data folder": [
    at(one, null),
    at(one, join(shared, "a.db")),
    /on the data folder .+DATA_DIR$/,
  ],
  "two data folders": [at(one, join(one, "flowhook.db")), at(other, join(other, "f.db")), null],
  "one database elsewhere": [
    at(one, join(shared, "a.db")),
    at(other, join(shared, "a.db")),
    /^Another service runs on the database ".+a\.db"\. Stop it first, or set DATABASE_URL$/,
  ],
  "two databases in one folder": [
    at(one, join(shared, "a.db")),
    at(other, join(shared, "b.db")),
    null,
  ],
  "one database through a linked folder": [
    at(one, join(shared, "a.db")),
    at(other, join(root, "link/a.db")),
    /on the database/,
  ],
  "one database through a link to it": [
    at(one, join(shared, "real.db")),
    at(other, join(other, "linked.db")),
    /on the database/,
  ],
  "a database in the data folder of another": [
    at(one, join(one, "flowhook.db")),
    at(other, join(one, "flowhook.db")),
    /on the data folder ".+one"\. Stop it first, or set DATABASE_URL$/,
  ],
  "a data folder with the database of another": [
    at(other, join(one, "flowhook.db")),
    at(one, join(one, "flowhook.db")),
    /on the data folder ".+one"/,
  ],
};

for (const [name, [has, comes, says]] of Object.entries(ROWS))
  test(name, () => {
    const held = takeLock(has, null);
    assert.ok(isTaken(has.dataDir, null));
    if (says === null) takeLock(comes, null).release();
    else assert.throws(() => takeLock(comes, null), { exitCode: 1, message: says });
    held.release();
    // Neither the one that ended nor the one that was refused has anything left.
    takeLock(comes, null).release();
    takeLock(has, null).release();
  });
