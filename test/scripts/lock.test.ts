import assert from "node:assert/strict";
import { test } from "node:test";
import { complete } from "../../scripts/lock.ts";

const NAME = "@tool/linux-x64-musl";
const asking = (version: string, others: Record<string, string> = {}) => ({
  packages: { "node_modules/tool": { optionalDependencies: { ...others, [NAME]: version } } },
});

test("a package of another platform is locked by its name and version", () => {
  const lock = asking("1.2.3-beta.4");
  assert.deepEqual(complete(lock), { added: [NAME], ranges: [] });
  assert.deepEqual({ ...lock.packages }["node_modules/@tool/linux-x64-musl" as never], {
    version: "1.2.3-beta.4",
    cpu: ["x64"],
    libc: ["musl"],
    optional: true,
    os: ["linux"],
  });
});

test("a range is no version to lock, and keeps none from being locked", () => {
  const lock = asking("1.2.3", { "@tool/win32-x64": "^1.2.3", "@tool/aix-ppc64": "*" });
  const ranges = ['"@tool/win32-x64" as "^1.2.3"', '"@tool/aix-ppc64" as "*"'];
  assert.deepEqual(complete(lock), { added: [NAME], ranges });
  assert.deepEqual(Object.keys(lock.packages), [`node_modules/${NAME}`, "node_modules/tool"]);
});
