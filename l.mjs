import { createRequire } from "node:module";
import fs from "node:fs";
const D = createRequire("/work/main/package.json")("better-sqlite3");
const f = "/tmp/lg/lk.db";
for (const x of ["", "-wal", "-shm"]) fs.rmSync(f + x, { force: true });
const a = new D(f);
a.pragma("auto_vacuum=INCREMENTAL");
a.pragma("journal_mode=WAL");
a.exec("create table t(x)");
a.exec("insert into t values(1)");
const h = new D(f);
h.exec("BEGIN EXCLUSIVE");
const b = new D(f);
b.pragma("busy_timeout=100");
for (const p of [
  "auto_vacuum = INCREMENTAL",
  "journal_mode = WAL",
  "synchronous = FULL",
  "journal_size_limit = 1000",
  "foreign_keys = ON",
]) {
  try {
    console.log(p, b.pragma(p));
  } catch (e) {
    console.log(p, e.code, e.message);
  }
}
console.log(b.prepare("select * from t").all());
