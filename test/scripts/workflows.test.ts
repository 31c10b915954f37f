import assert from "node:assert/strict";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import manifest from "../../package.json" with { type: "json" };
import { ROOT, TARGETS } from "../../scripts/targets.ts";

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[] }>>;
}

const files = globSync(".github/workflows/*.yml", { cwd: ROOT });
const workflows = new Map(files.map((file) => [file, load(read(file)) as Workflow]));

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

function stepsOf(workflow: Workflow): Step[] {
  return Object.values(workflow.jobs).flatMap(({ steps }) => [...steps]);
}

function commandsOf(file: string): string {
  const workflow = workflows.get(file);
  assert.ok(workflow !== undefined, file);
  return stepsOf(workflow)
    .map(({ run = "" }) => run)
    .join("\n");
}

test("workflows may read, and their actions are pinned to a commit", () => {
  assert.equal(workflows.size, 2);
  for (const [file, workflow] of workflows) {
    assert.deepEqual(workflow.permissions, { contents: "read" }, file);
    for (const { uses } of stepsOf(workflow))
      assert.match(uses ?? "actions/none@", /^actions\/[a-z-]+@([0-9a-f]{40})?$/, file);
  }
});

test("workflows run what the package has, and what runs the tests elsewhere", () => {
  for (const [file] of workflows) {
    const commands = commandsOf(file);
    assert.match(commands, /^\.ci\/run$/m, file);
    for (const [, script] of commands.matchAll(/npm run (?:--silent )?([\w-]+)/g))
      assert.ok(Object.hasOwn(manifest.scripts, script!), `${file}: npm run ${script}`);
  }
  assert.ok((statSync(join(ROOT, ".ci/run")).mode & 0o100) !== 0, "it can be executed");
});

/** Of Debian's util-linux, which every machine has. */
const ESSENTIAL = new Set(["setpriv", "unshare"]);

test("a program without which tests are skipped is installed where none may be", () => {
  const script = read(".ci/run");
  const tests = globSync("test/**/*.ts", { cwd: ROOT }).map(read);
  const wanted = tests.flatMap((text) => [...text.matchAll(/findProgram\("([^"]+)"\)/g)]);
  const names = new Set(wanted.map(([, name]) => name!).filter((name) => !ESSENTIAL.has(name)));
  assert.ok(names.size > 5);
  for (const name of names) assert.ok(script.includes(`[${name}]=`), name);
});

test("a release has the binaries of all platforms, and the notices", () => {
  const commands = commandsOf(".github/workflows/release.yml");
  const built = /for target in ([^;]+);/.exec(commands)?.[1]?.split(" ");
  assert.deepEqual(built?.toSorted(), Object.keys(TARGETS).toSorted());
  for (const [name, { extension }] of Object.entries(TARGETS))
    assert.ok(commands.includes(`flowhook-${name}${extension}`), name);
  assert.match(commands, /third-party-notices\.txt/);
  assert.match(commands, /sha256sum -- \* > SHA256SUMS/);
});

test("issue forms ask for what is needed, each under a name of its own", () => {
  for (const file of globSync(".github/ISSUE_TEMPLATE/{bug,proposal}.yml", { cwd: ROOT })) {
    const form = load(read(file)) as { name: string; body: { id?: string; type: string }[] };
    assert.ok(form.name.length > 0, file);
    const ids = form.body.flatMap(({ id }) => id ?? []);
    assert.equal(new Set(ids).size, ids.length, file);
    assert.ok(ids.length >= 3, file);
  }
});
