import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

interface Locked {
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const root = join(import.meta.dirname, "..");
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, Locked>;
};
const packages = Object.entries(lock.packages).filter(([place]) => place !== "");

/** Where the tests run, and the binary is built. */
function isForBuild({ os, cpu, libc }: Locked): boolean {
  const has = (list: readonly string[] | undefined, word: string) =>
    list === undefined || list.includes(word);
  return has(os, "linux") && has(cpu, "x64") && has(libc, "glibc");
}

test("L14: what is shipped, and what builds it, has its digest in the lockfile", () => {
  const without = packages.filter(([, { integrity }]) => integrity === undefined);
  const wrong = without.filter(
    ([, entry]) => entry.dev !== true || entry.optional !== true || isForBuild(entry),
  );
  assert.deepEqual(
    wrong.map(([place]) => place),
    [],
  );
  for (const [place, { integrity }] of packages)
    assert.match(integrity ?? "sha512-", /^sha512-/, place);
});

test("L14: without a digest are only tools of development for platforms that do not build it", () => {
  const without = packages.filter(([, { integrity }]) => integrity === undefined);
  const tools =
    /^node_modules\/(@deno\/|@oxc-parser\/|@oxfmt\/|@oxlint\/|@oxlint-tsgolint\/|@flydotio\/litestream-)/;
  assert.deepEqual(
    without.map(([place]) => place).filter((place) => !tools.test(place)),
    [],
  );
});

test("L14: the lockfile names no host, so that every registry serves it", () => {
  const text = readFileSync(join(root, "package-lock.json"), "utf8");
  assert.doesNotMatch(text, /"resolved":/);
  // What authors ask to be funded by, which npm copies.
  assert.doesNotMatch(text.replace(/"funding": (\{[^}]*\}|\[[^\]]*\])/g, ""), /https?:\/\//);
});

test("L14: no package runs a script when it is installed", () => {
  assert.match(readFileSync(join(root, ".npmrc"), "utf8"), /^ignore-scripts=true$/m);
});
