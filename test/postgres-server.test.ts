import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { removePlace, toOwn } from "./postgres-server.ts";

/** Unlike PostgreSQL it has no handler for signals, so that they end it. */
const PROGRAM = `#!/bin/sh
ulimit -c 0
echo "ready to accept connections" >&2
exec sleep 600
`;

test("a server that a signal has ended has no process, and is not waited for", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-postgres-"));
  const place = { folder, programs: join(folder, "native"), user: {} };
  t.after(() => removePlace(place));
  const data = join(folder, "data");
  for (const made of [data, join(place.programs, "bin")]) mkdirSync(made, { recursive: true });
  writeFileSync(join(place.programs, "bin/postgres"), PROGRAM, { mode: 0o755 });
  const own = toOwn(place, data, 0);
  assert.equal(own.pid(), undefined);
  await own.start();
  assert.doesNotThrow(() => process.kill(Number(own.pid()), 0));
  await own.kill();
  assert.equal(own.pid(), undefined);
  await own.kill();
});
