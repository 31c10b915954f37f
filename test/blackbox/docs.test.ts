import assert from "node:assert/strict";
import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { listPages } from "../../src/assets/manual.ts";
import { runProgram, type Finished } from "./command.ts";
import { ADMIN_PASSWORD, launch, terminate, type Running } from "./service.ts";
import { environment, openTarget, type Target } from "./target.ts";

const given = openTarget();

/** Nothing of this machine but its own programs. */
const BARE = { PATH: "/usr/bin:/bin" };

describe(`the documentation in the program (${given.name})`, { skip: given.skip ?? false }, () => {
  let directory: string;
  let target: Target;
  const env = given.name === "binary" ? BARE : environment();

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "flowhook-docs-"));
    target = await aloneIn(directory);
  });
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 3 }));

  function run(...args: string[]): Promise<Finished> {
    const [program, ...leading] = target.command;
    return runProgram(program, [...leading, ...args], { cwd: directory, env });
  }

  test("docs and licenses need nothing beside the program, and leave nothing behind", async () => {
    const before = await readdir(directory);
    for (const { name, title } of listPages()) {
      const page = await run("docs", name);
      assert.equal(page.code, 0, page.stderr);
      assert.ok(page.stdout.startsWith(`# ${title}\n`), name);
    }
    const licenses = await run("licenses");
    assert.equal(licenses.code, 0, licenses.stderr);
    assert.match(licenses.stdout, /^MIT License\n[^]*Copyright Node\.js contributors/);
    assert.deepEqual(await readdir(directory), before);
  });

  describe("at /ui/docs", () => {
    let running: Running;
    let token: string;

    before(async () => {
      const settings = {
        FLOWHOOK_LISTEN_PORT: "0",
        FLOWHOOK_LOG_FORMAT: "json",
        FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD,
      };
      running = await launch(target, directory, ["serve"], { ...env, ...settings });
      const login = await fetch(`${running.url}/api/latest/auth/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ user_name: "admin", password: ADMIN_PASSWORD }),
      });
      ({ token } = (await login.json()) as { token: string });
    });
    after(() => terminate(running.child));

    async function read(path: string): Promise<{ status: number; html: string }> {
      const headers = { cookie: `service-token=${token}` };
      const response = await fetch(`${running.url}/ui/docs${path}`, { headers });
      return { status: response.status, html: await response.text() };
    }

    test("each page is shown, and led to from the list", async () => {
      const list = await read("");
      for (const { name, title } of listPages()) {
        assert.ok(list.html.includes(`href="/ui/docs/${name}"`), name);
        const page = await read(`/${name}`);
        assert.equal(page.status, 200, name);
        assert.match(page.html, new RegExp(`<h1 id="[^"]+">${title}</h1>`), name);
        const loaded = page.html.matchAll(/(?:src|<link[^>]*href)="([^"]+)"/g);
        for (const [, source] of loaded) assert.match(source!, /^(\/ui\/files\/|data:)/, name);
      }
    });

    test("the search finds, and shows what was asked for as text", async () => {
      const found = await read("?q=secret.key");
      assert.match(found.html, /href="\/ui\/docs\/backup#backup"/);
      assert.match(found.html, /<mark>secret\.key<\/mark>/);
      const hostile = await read(`?q=${encodeURIComponent('"><script>x</script>')}`);
      assert.ok(!hostile.html.includes("<script>x"), "a query is no script");
      assert.match(hostile.html, /No page has all of/);
    });

    test("a page that is not there is 404", async () => {
      const missing = await read("/no-such-page");
      assert.equal(missing.status, 404);
      assert.match(missing.html, /There is nothing here/);
    });
  });
});

/** The binary is copied and runs alone; the other targets run from where they are. */
async function aloneIn(directory: string): Promise<Target> {
  if (given.name !== "binary") return given;
  const copy = join(directory, "flowhook");
  await copyFile(given.command[0], copy);
  return { ...given, command: [copy] };
}
