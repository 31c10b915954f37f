import assert from "node:assert/strict";
import { mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { allot, type Limits } from "../../src/server/flows/grants.ts";
import { toManifest } from "../../src/shared/manifest.ts";

const LIMITS: Limits = {
  allow: { net: true, read: [], write: [] },
  timeoutMs: 300_000,
  timeoutMaxMs: 600_000,
  memory_mb: 128,
};

const asking = (read: string[]) => toManifest({ fetch() {}, permissions: { read } });
const allowing = (read: string[]) => ({ ...LIMITS, allow: { ...LIMITS.allow, read } });

suite("grants", () => {
  const rows: [asked: string, allowed: string, isGranted: boolean][] = [
    ["/srv/in", "/srv/in", true],
    ["/srv/in/", "/srv/in", true],
    ["/srv/in/a/b", "/srv/in", true],
    ["/srv/in/../in/a", "/srv/in", true],
    ["/srv/in/../out", "/srv/in", false],
    ["/srv/inner", "/srv/in", false],
    ["/srv", "/srv/in", false],
    ["/srv/in/..a", "/srv/in", true],
    ["/", "/srv", false],
    ["/anything", "/", true],
    ["tables", "tables", true],
    ["./tables/x", "/plugins/tables", true],
    ["../other", "tables", false],
  ];
  for (const [asked, allowed, isGranted] of rows) {
    test(`'${asked}' is ${isGranted ? "" : "not "}inside '${allowed}'`, () => {
      const act = () => allot(asking([asked]), allowing([allowed]), "/plugins").grants.read;
      if (isGranted) assert.equal(act().length, 1);
      else
        assert.throws(act, {
          message: `The flow asks to read '${asked}', which is not inside ALLOW_READ. That key of the configuration lists what flows may read: add the path there (flowhook.yaml or FLOWHOOK_ALLOW_READ), and restart`,
        });
    });
  }

  test("a link in an allowed folder leads nowhere else", async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), "flowhook-grants-")));
    try {
      await mkdir(join(folder, "in"));
      await mkdir(join(folder, "out"));
      await symlink("../out", join(folder, "in/link"));
      await symlink("in", join(folder, "also-in"));
      const limits = allowing([join(folder, "also-in")]);
      const read = join(folder, "in/file-to-come");
      assert.deepEqual(allot(asking([read]), limits, folder).grants.read, [read]);
      assert.throws(() => allot(asking([join(folder, "in/link/x")]), limits, folder));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("a flow that declares nothing gets nothing and the usual limits", () => {
    assert.deepEqual(
      allot(
        toManifest(() => null),
        LIMITS,
        "/plugins",
      ),
      {
        grants: { net: false, read: [], write: [], secrets: [] },
        timeoutMs: 300_000,
        memory_mb: 128,
      },
    );
  });
});
