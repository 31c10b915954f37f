import assert from "node:assert/strict";
import { test } from "node:test";
import { complete } from "../../scripts/lock.ts";

const asking = (version: string) => ({
  packages: { "node_modules/tool": { optionalDependencies: { "@tool/linux-x64-musl": version } } },
});

test("a package of another platform is locked by its name and version", () => {
  const lock = asking("1.2.3-beta.4");
  assert.deepEqual(complete(lock), ["@tool/linux-x64-musl"]);
  assert.deepEqual({ ...lock.packages }["node_modules/@tool/linux-x64-musl" as never], {
    version: "1.2.3-beta.4",
    cpu: ["x64"],
    libc: ["musl"],
    optional: true,
    os: ["linux"],
  });
});

test("a range is no version to lock", () => {
  assert.throws(() => complete(asking("^1.2.3")), /Cannot lock "@tool\/linux-x64-musl" as "\^1/);
});
