import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isTaken, takeLock, type Locked } from "../../src/server/store/sqlite/lock.ts";

/** Folders of a row: two data folders, and one that both can name. */
interface Place {
  readonly one: string;
  readonly other: string;
  readonly shared: string;
}

const at = (dataDir: string, database: string | null): Locked => ({ dataDir, database });

/** Who has it and who comes, and why that one may not; null: it may. */
const ROWS: Readonly<
  Record<string, [of: (place: Place) => [Locked, Locked], says: RegExp | null]>
> = {
  "one data folder": [
    ({ one, shared }) => [at(one, null), at(one, join(shared, "a.db"))],
    /on the data folder .+one"\. Stop it first, or set DATA_DIR$/,
  ],
  "two data folders": [
    ({ one, other }) => [at(one, join(one, "flowhook.db")), at(other, join(other, "flowhook.db"))],
    null,
  ],
  "one database elsewhere": [
    ({ one, other, shared }) => [at(one, join(shared, "a.db")), at(other, join(shared, "a.db"))],
    /^Another service runs on the database ".+a\.db"\. Stop it first, or set DATABASE_URL$/,
  ],
  "two databases in one folder": [
    ({ one, other, shared }) => [at(one, join(shared, "a.db")), at(other, join(shared, "b.db"))],
    null,
  ],
  "two databases in what was a data folder once": [
    ({ one, other, shared }) => {
      takeLock(at(shared, null), null).release();
      return [at(one, join(shared, "a.db")), at(other, join(shared, "b.db"))];
    },
    null,
  ],
  "one database through a linked folder": [
    ({ one, other, shared }) => {
      symlinkSync(shared, join(other, "link"));
      return [at(one, join(shared, "a.db")), at(other, join(other, "link/a.db"))];
    },
    /on the database/,
  ],
  "one database through a link to it": [
    ({ one, other, shared }) => {
      writeFileSync(join(shared, "a.db"), "");
      symlinkSync(join(shared, "a.db"), join(other, "flowhook.db"));
      return [at(one, join(shared, "a.db")), at(other, join(other, "flowhook.db"))];
    },
    /on the database/,
  ],
  "one database through links to where it will be": [
    ({ one, other, shared }) => {
      symlinkSync("a.db", join(shared, "b.db"));
      symlinkSync(join(shared, "b.db"), join(one, "flowhook.db"));
      symlinkSync("../shared/a.db", join(other, "flowhook.db"));
      return [at(one, join(one, "flowhook.db")), at(other, join(other, "flowhook.db"))];
    },
    /on the database/,
  ],
  "a database in the data folder of another": [
    ({ one, other }) => [at(one, join(one, "flowhook.db")), at(other, join(one, "flowhook.db"))],
    /on the database/,
  ],
  "a data folder with the database of another": [
    ({ one, other }) => [at(other, join(one, "flowhook.db")), at(one, join(one, "flowhook.db"))],
    /on the database/,
  ],
  "another database in the data folder of another": [
    ({ one, other }) => [at(one, join(one, "flowhook.db")), at(other, join(one, "b.db"))],
    null,
  ],
};

for (const [name, [of, says]] of Object.entries(ROWS))
  test(name, () => {
    using place = openPlace();
    const [has, comes] = of(place);
    const held = takeLock(has, null);
    assert.ok(isTaken(has.dataDir, null));
    if (says === null) takeLock(comes, null).release();
    else assert.throws(() => takeLock(comes, null), { exitCode: 1, message: says });
    held.release();
    // Neither the one that ended nor the one that was refused has anything left.
    takeLock(comes, null).release();
    takeLock(has, null).release();
  });

function openPlace(): Place & Disposable {
  const root = mkdtempSync(join(tmpdir(), "flowhook-lock-"));
  const [one = "", other = "", shared = ""] = ["one", "other", "shared"].map((name) => {
    mkdirSync(join(root, name));
    return join(root, name);
  });
  return { one, other, shared, [Symbol.dispose]: () => rmSync(root, { recursive: true }) };
}
