import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import manifest from "../../package.json" with { type: "json" };
import { listRuntimePackages, makeNotices, NOTICES } from "../../scripts/notices.ts";

const notices = readFileSync(NOTICES, "utf8");

test("the notices are those of the lockfile: run npm run docs", () => {
  assert.ok(notices === makeNotices(), "src/assets/files/third-party-notices.txt is another one");
});

test("every package that is installed to run the program is in the notices", () => {
  const packages = listRuntimePackages();
  const lines = new Set(notices.split("\n"));
  const missing = packages.filter(
    ({ name, version, license }) => !lines.has(`${name} ${version} (${license})`),
  );
  assert.deepEqual(missing, []);
  const names = packages.map(({ name }) => name);
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    assert.ok(names.includes(name), name);
});

test("the texts are there: of Flowhook itself, of Node.js, and of what it contains", () => {
  for (const words of [
    "Copyright (c) 2026 Flowhook contributors",
    "Copyright Node.js contributors",
    "OpenSSL",
    "SQLite, which better-sqlite3 contains",
    "Copyright (c) 2011-2018, Christopher Jeffrey",
  ])
    assert.ok(notices.includes(words), words);
});

test("no licence asks for more than to be named", () => {
  const known = /^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|PSF-2\.0|0BSD|BlueOak-1\.0\.0)$/;
  const other = listRuntimePackages().filter(({ license }) => !known.test(license));
  assert.deepEqual(other, []);
});
