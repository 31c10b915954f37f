import assert from "node:assert/strict";
import {
  lutimes,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runProgram } from "../blackbox/command.ts";
import { environment, NODE, ROOT } from "../blackbox/target.ts";

/** Keeps 25 logins, one after the other; its name is the last argument. */
const PROGRAM = `
import { keepLogin } from "./src/cli/kept-logins.ts";
for (let at = 0; at < 25; at += 1)
  keepLogin(\`http://\${process.argv.at(-1)}:\${at}\`, { token: "t", user_name: "u", expires_at: "e" });
`;

test("of logins at once none is lost, nor after one that was killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-logins-"));
  const file = join(folder, "flowhook/logins.json");
  const keep = async (name: string) => {
    const words = ["--import", "tsx", "--input-type=module", "--eval", PROGRAM, name];
    const env = environment({ XDG_CONFIG_HOME: folder });
    const done = await runProgram(NODE, words, { cwd: ROOT, env });
    assert.equal(done.code, 0, done.stderr);
  };
  try {
    await Promise.all(["a", "b", "c", "d"].map(keep));
    const count = async () => {
      const { logins } = JSON.parse(await readFile(file, "utf8")) as { logins: object };
      return Object.keys(logins).length;
    };
    assert.equal(await count(), 100);
    await writeFile(`${file}.lock`, "");
    await utimes(`${file}.lock`, 0, 0);
    await Promise.all(["e", "f", "g"].map(keep));
    assert.equal(await count(), 175);
    await symlink("nowhere", `${file}.lock`);
    await lutimes(`${file}.lock`, 0, 0);
    await keep("h");
    assert.equal(await count(), 200);
    assert.deepEqual(await readdir(join(folder, "flowhook")), ["logins.json"]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
