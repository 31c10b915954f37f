import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { OpenFiles } from "../../src/server/store/sqlite/open-files.ts";

/** Whether what is open still lies where it was. */

const folder = mkdtempSync(join(tmpdir(), "flowhook-open-files-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Two files that are watched, and the next change of what is known of them. */
function openWatched(name: string) {
  const paths = [`${name}-a`, `${name}-b`].map((file) => join(folder, file)) as [string, string];
  for (const path of paths) writeFileSync(path, "1");
  const told = new EventEmitter();
  const files = new OpenFiles((error) => told.emit("change", error?.message ?? null));
  files.watch(...paths);
  return {
    files,
    path: paths[1],
    async change(): Promise<string | null> {
      const [message] = (await once(told, "change")) as [string | null];
      return message;
    },
  };
}

const kindOf = ({ error }: OpenFiles) => error?.kind ?? null;
const MESSAGE = /^".*-b" was moved, deleted or replaced while the service has it open$/;

test("a file that was moved is told once, and that it lies there again", async () => {
  const { files, path, change } = openWatched("moved");
  assert.equal(kindOf(files), null);
  const gone = change();
  renameSync(path, `${path}.away`);
  assert.match((await gone) ?? "", MESSAGE);
  assert.equal(kindOf(files), "unavailable");
  const back = change();
  renameSync(`${path}.away`, path);
  assert.equal(await back, null);
  assert.equal(kindOf(files), null);
  files.close();
});

test("a file with other contents is the same; another one in its place is not", async () => {
  const { files, path, change } = openWatched("replaced");
  // Watched since later: by the time that it is told, the first was looked at too.
  const other = openWatched("other");
  writeFileSync(path, "more than it held");
  renameSync(other.path, `${other.path}.away`);
  await other.change();
  assert.equal(kindOf(files), null);
  other.files.close();
  const gone = change();
  writeFileSync(`${path}.new`, "1");
  renameSync(`${path}.new`, path);
  assert.match((await gone) ?? "", MESSAGE);
  files.close();
});
