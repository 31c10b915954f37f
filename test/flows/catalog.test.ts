import assert from "node:assert/strict";
import {
  chmod,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Catalog, Flow } from "../../src/server/flows/catalog.ts";
import { PACKAGES_CHANGED } from "../../src/server/flows/packages.ts";
import { QUIET_MS } from "../../src/server/flows/sources.ts";
import { inspect, openFixture } from "./fixture.ts";

const greet = (word: string) => `export default () => ${JSON.stringify(word)};\n`;
const isReady = (name: string) => (flow: { name: string; state: string }) =>
  flow.name === name && flow.state === "ready";
const isBroken = (name: string) => (flow: { name: string; state: string }) =>
  flow.name === name && flow.state === "broken";

/** Copies are read-only, which stops nobody who owns them. */
async function overwrite(file: string, text: string): Promise<void> {
  await chmod(file, 0o600);
  await writeFile(file, text);
  await chmod(file, 0o444);
}

/**
 * Writes files, and waits until they are taken up. Where that paused amid the writing for so long that
 * what is there counts as whole, others are written. @returns the number of the last round
 */
async function takenAtOnce(
  catalog: Catalog,
  write: (round: number) => Promise<{ readonly done: Promise<Flow> }>,
): Promise<number> {
  for (let round = 1; ; round += 1) {
    const begun = performance.now();
    const { done } = await write(round);
    const tookMs = performance.now() - begun;
    await done;
    await catalog.idle();
    if (tookMs < QUIET_MS) return round;
    await catalog.reload();
  }
}

suite("catalog", () => {
  test("names flows by their path and leaves out what is none", async () => {
    await using fixture = await openFixture({
      "hello.ts": greet("hello"),
      "billing/index.ts": greet("billing"),
      "billing/invoice.mjs": greet("invoice"),
      "money.ts": "export const vat = 0.19;",
      "hello.test.ts": greet("test"),
      "types.d.ts": "export default 1;",
      "_draft.ts": greet("draft"),
      ".hidden/x.ts": greet("hidden"),
      "node_modules/x/index.js": greet("package"),
      "readme.md": "default",
    });
    const catalog = await fixture.open();
    assert.deepEqual(
      catalog.list().map((flow) => [flow.name, flow.file, flow.state]),
      [
        ["billing", "billing/index.ts", "ready"],
        ["billing.invoice", "billing/invoice.mjs", "ready"],
        ["hello", "hello.ts", "ready"],
      ],
    );
    assert.equal(catalog.find("money"), undefined);
  });

  test("keeps an immutable copy of a flow and what it names", async () => {
    await using fixture = await openFixture({
      "shop/order.ts": `import { vat } from "../_lib/vat.ts";
        const page = new URL('./page.html?x', import.meta.url);
        const loaded = () => import(\`./lazy.mjs\`);
        export default () => [vat, page, loaded];`,
      "shop/page.html": "<h1>page</h1>",
      "shop/lazy.mjs": "export {};",
      "shop/other.ts": greet("other"),
      "_lib/vat.ts": "export { vat } from './rate.ts';",
      "_lib/rate.ts": "export const vat = 0.19;",
    });
    const catalog = await fixture.open();
    const spec = catalog.find("shop.order")?.spec;
    assert.ok(spec);
    assert.equal(spec.key, `shop.order@${spec.version}`);
    assert.equal(spec.directory, join(fixture.data, "versions", "shop.order", spec.version));
    assert.equal(spec.entry, join(spec.directory, "shop/order.ts"));
    assert.equal(spec.plugins_dir, fixture.plugins);
    for (const path of ["shop/page.html", "shop/lazy.mjs", "_lib/vat.ts", "_lib/rate.ts"]) {
      assert.equal((await stat(join(spec.directory, path))).mode & 0o777, 0o444);
    }
    await assert.rejects(stat(join(spec.directory, "shop/other.ts")));
  });

  test("gives the files of a version as they ran, and nothing else by any path", async () => {
    await using fixture = await openFixture({
      "a.ts": `import { word } from "./lib/word.ts"; export default () => [word, import.meta.url, "./dot.png"];`,
      "lib/word.ts": `export const word = "one";`,
      "dot.png": "\ufffd",
      "other.ts": greet("other"),
    });
    await writeFile(join(fixture.plugins, "dot.png"), Buffer.from([0x89, 0x50, 0xff]));
    const catalog = await fixture.open();
    const version = catalog.find("a")?.version ?? "";
    const changed = fixture.change((flow) => flow.name === "a" && flow.version !== version);
    await fixture.write("lib/word.ts", `export const word = "two";`);
    await changed;
    const paths = ["a.ts", "dot.png", "lib/word.ts"];
    const own = await catalog.versionFile("a", version);
    assert.deepEqual([own?.paths, own?.path], [paths, "a.ts"]);
    assert.match(own?.text ?? "", /export default/);
    const helper = await catalog.versionFile("a", version, "lib/word.ts");
    assert.deepEqual(helper, { paths, path: "lib/word.ts", text: `export const word = "one";` });
    const image = await catalog.versionFile("a", version, "dot.png");
    assert.deepEqual(image, { paths, path: "dot.png", text: null });
    const outside = ["", "..", "../a.ts", `../${version}/a.ts`, `../${version}.json`, "lib"];
    for (const path of [...outside, "/etc/passwd", "./a.ts", "lib/../a.ts", "other.ts", "a.ts\0"])
      assert.deepEqual(await catalog.versionFile("a", version, path), {
        paths,
        path: null,
        text: null,
      });
    for (const [flow, wanted] of [
      ["a", ".."],
      ["a", "0".repeat(16)],
      ["a", "serving"],
      ["..", "versions"],
      ["other", version],
    ] as const)
      assert.equal(await catalog.versionFile(flow, wanted), null, `${flow} ${wanted}`);

    const gone = fixture.change((flow) => flow.name === "a");
    await fixture.remove("a.ts");
    await gone;
    assert.equal((await catalog.versionFile("a", version))?.path, "a.ts", "the flow is gone");
    const folder = join(fixture.data, "versions", "a", version);
    await overwrite(join(folder, "lib/word.ts"), `export const word = "owned";`);
    assert.equal(await catalog.versionFile("a", version), null, "somebody changed it");
    await overwrite(join(folder, "lib/word.ts"), `export const word = "one";`);
    assert.equal((await catalog.versionFile("a", version))?.path, "a.ts");
    await symlink("/etc/passwd", join(folder, "passwd"));
    assert.equal(await catalog.versionFile("a", version, "passwd"), null, "and put a link there");
  });

  test("takes up a change, a new file, a deleted file and a changed import", async () => {
    await using fixture = await openFixture({
      "a.ts": `import { word } from "./_word.ts"; export default () => word;`,
      "_word.ts": `export const word = "one";`,
    });
    const catalog = await fixture.open();
    const first = catalog.find("a")?.spec;
    const changed = fixture.change((flow) => flow.name === "a" && flow.version !== first?.version);
    await fixture.write("_word.ts", `export const word = "two";`);
    const { spec } = await changed;
    assert.match(await readFile(join(spec?.directory ?? "", "_word.ts"), "utf8"), /two/);
    assert.deepEqual(fixture.retired, [first?.key]);
    assert.equal((await catalog.findVersion("a", first?.version ?? ""))?.key, first?.key);

    const added = fixture.change(isReady("sub.b"));
    await fixture.write("sub/b.ts", greet("b"));
    await added;
    const gone = fixture.change((flow) => flow.name === "sub.b");
    await fixture.remove("sub");
    await gone;
    assert.equal(catalog.find("sub.b"), undefined);
    assert.ok(await catalog.findVersion("sub.b", (await fixture.versions("sub.b"))[0] ?? ""));
  });

  test("serves the last good version while the newest is broken, also after a restart", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const before = await fixture.open();
    const good = before.find("a")?.version;
    assert.ok(good);
    const broken = fixture.change(isBroken("a"));
    await fixture.write("a.ts", "export default function ( {");
    const flow = await broken;
    assert.equal(flow.version, good);
    assert.equal(flow.spec?.version, good);
    assert.ok(flow.error?.message);
    assert.deepEqual(fixture.retired, []);
    await before[Symbol.asyncDispose]();

    const after = await fixture.open();
    assert.equal(after.find("a")?.state, "broken");
    assert.equal(after.find("a")?.version, good);
    const mended = fixture.change(isReady("a"));
    await fixture.write("a.ts", greet("two"));
    assert.notEqual((await mended).version, good);
    assert.equal(after.find("a")?.error, null);
  });

  test("a flow that was never good is listed with its error", async () => {
    await using fixture = await openFixture({
      "a.ts": "throw new Error('no luck'); export default 1;",
    });
    const flow = (await fixture.open()).find("a");
    assert.equal(flow?.state, "broken");
    assert.equal(flow?.error?.message, "no luck");
    assert.equal(flow?.spec, null);
    assert.deepEqual(await fixture.versions("a"), []);
  });

  test("inspects a content once, also over restarts", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one"), "b.ts": greet("two") });
    const first = await fixture.open();
    const specs = first.list().map((flow) => flow.spec);
    assert.equal(fixture.inspected.length, 2);
    await first[Symbol.asyncDispose]();
    const second = await fixture.open();
    assert.deepEqual(
      second.list().map((flow) => flow.spec),
      specs,
    );
    assert.equal(fixture.inspected.length, 2);
  });

  test("a version that an earlier release kept is asked for its schemas, and stays where they fail", async () => {
    const text = `import { defineFlow, v } from "flowhook";
      export default defineFlow({ input: v.object({ json: v.object({ a: v.string() }) }), run() {} });`;
    await using fixture = await openFixture({ "a.ts": text });
    await (await fixture.open())[Symbol.asyncDispose]();
    const [version] = await fixture.versions("a");
    const path = join(fixture.data, "versions", "a", `${version}.json`);
    const record = JSON.parse(await readFile(path, "utf8")) as { manifest: { schemas: unknown } };
    const { schemas, ...manifest } = record.manifest;
    assert.match(
      JSON.stringify(schemas),
      /^\{"input":\{"json":"\{.*"reason":null\},"output":null\}$/,
    );
    const earlier = JSON.stringify({ ...record, manifest });
    await writeFile(path, earlier);
    const again = await fixture.open();
    assert.deepEqual(again.find("a")?.manifest?.schemas, schemas);
    assert.deepEqual(again.find("a")?.spec?.input_members, ["json"]);
    assert.deepEqual(await fixture.versions("a"), [version], "and is the same version");
    await again[Symbol.asyncDispose]();
    await writeFile(path, earlier);
    const broken = { kind: "broken", message: "no", stack: null } as const;
    const failing = await fixture.open({ inspect: async () => broken });
    assert.equal(failing.find("a")?.state, "ready");
    assert.equal(failing.find("a")?.manifest?.schemas, null);
  });

  test("makes a version folder anew that somebody changed", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const first = await fixture.open();
    const entry = first.find("a")?.spec?.entry ?? "";
    await first[Symbol.asyncDispose]();
    await rm(entry);
    await writeFile(entry, greet("forged"));
    const second = await fixture.open();
    assert.equal(second.find("a")?.spec?.entry, entry);
    assert.equal(await readFile(entry, "utf8"), greet("one"));
  });

  const changes: Record<string, (folder: string) => Promise<void>> = {
    "a file was altered": (folder) => overwrite(join(folder, "a.ts"), greet("planted")),
    "a file was altered, with its size and time kept": async (folder) => {
      const file = join(folder, "a.ts");
      const { atime, mtime } = await stat(file);
      await overwrite(file, greet("b"));
      await utimes(file, atime, mtime);
    },
    "a file was added": (folder) => writeFile(join(folder, "more.ts"), "export {};"),
    "a file is missing": (folder) => rm(join(folder, "a.ts")),
    "a file is a link to the same content": async (folder) => {
      await rename(join(folder, "a.ts"), `${folder}.elsewhere`);
      await symlink(`${folder}.elsewhere`, join(folder, "a.ts"));
    },
    "the folder was swapped": async (folder) => {
      await rename(folder, `${folder}.elsewhere`);
      await mkdir(folder);
      await writeFile(join(folder, "a.ts"), greet("planted"));
    },
  };
  for (const [name, change] of Object.entries(changes))
    test(`L11: a version is not loaded where ${name}, and copied again`, async () => {
      await using fixture = await openFixture({ "a.ts": greet("a") });
      const catalog = await fixture.open();
      const spec = catalog.find("a")?.spec;
      assert.ok(spec);
      catalog.verify(spec);
      await change(spec.directory);
      const ready = fixture.change(isReady("a"));
      assert.throws(
        () => catalog.verify(spec),
        /files of "a", version \w{16}, in DATA_DIR were changed/,
      );
      assert.equal(catalog.find("a")?.state, "broken");
      await ready;
      catalog.verify(spec);
      assert.equal(await readFile(join(spec.directory, "a.ts"), "utf8"), greet("a"));
      assert.deepEqual(fixture.inspected, [spec.key], "its content was inspected before");
    });

  test("L11: a version whose files were touched alone is loaded", async () => {
    await using fixture = await openFixture({ "a.ts": greet("a") });
    const catalog = await fixture.open();
    const spec = catalog.find("a")?.spec;
    assert.ok(spec);
    catalog.verify(spec);
    await utimes(spec.entry, 0, 0);
    catalog.verify(spec);
  });

  test("two files with one name are broken until one goes", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one"), "a/index.ts": greet("two") });
    const catalog = await fixture.open();
    assert.match(catalog.find("a")?.error?.message ?? "", /'a.ts' and 'a\/index.ts'.*'a'/);
    assert.equal(catalog.find("a")?.spec, null);
    await fixture.remove("a/index.ts");
    await catalog.reload();
    assert.equal(catalog.find("a")?.state, "ready");
  });

  test("a link that leads out of the folder is not followed", async () => {
    await using fixture = await openFixture({
      "a.ts": `import "./_out.ts"; export default () => 1;`,
      "b.ts": greet("b"),
    });
    await writeFile(join(fixture.data, "..", "secret.ts"), "export default () => 1;");
    await symlink("../secret.ts", join(fixture.plugins, "_out.ts"));
    await symlink("../secret.ts", join(fixture.plugins, "c.ts"));
    await symlink("b.ts", join(fixture.plugins, "d.ts"));
    await symlink("nothing.ts", join(fixture.plugins, "e.ts"));
    const catalog = await fixture.open();
    assert.match(catalog.find("a")?.error?.message ?? "", /'_out.ts' is a link that leads out/);
    assert.match(catalog.find("c")?.error?.message ?? "", /'c.ts' is a link that leads out/);
    assert.equal(catalog.find("d")?.state, "ready");
    assert.equal(catalog.find("e"), undefined);
  });

  test("a folder that comes later, goes and comes again is followed", async () => {
    await using fixture = await openFixture();
    const catalog = await fixture.open();
    assert.deepEqual(catalog.list(), []);
    for (const word of ["one", "two"]) {
      const added = fixture.change(isReady("a"));
      await fixture.write("a.ts", greet(word));
      await added;
      const gone = fixture.change(() => true);
      await rm(fixture.plugins, { recursive: true });
      await gone;
      assert.deepEqual(catalog.list(), []);
    }
    await catalog.idle();
    const told = fixture.logged.filter((line) => line.includes("There is no folder"));
    assert.equal(told.length, 2, "each time that flows went with it");
  });

  test("a folder that is swapped as a whole is followed", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one"), "../next/b.ts": greet("two") });
    const catalog = await fixture.open();
    const swapped = fixture.change(isReady("b"));
    await rename(fixture.plugins, join(fixture.plugins, "../last"));
    await rename(join(fixture.plugins, "../next"), fixture.plugins);
    await swapped;
    await catalog.idle();
    assert.deepEqual(
      catalog.list().map((flow) => flow.name),
      ["b"],
    );
  });

  test("a link to a folder that is set to another one is followed", async () => {
    await using fixture = await openFixture({
      "../v1/a.ts": greet("one"),
      "../v2/a.ts": greet("two"),
    });
    await symlink("v1", fixture.plugins);
    const catalog = await fixture.open({ pollMs: 50 });
    const first = catalog.find("a")?.spec;
    assert.equal(first?.plugins_dir, join(fixture.plugins, "../v1"));
    const swapped = fixture.change((flow) => flow.version !== first?.version);
    await symlink("v2", `${fixture.plugins}-new`);
    await rename(`${fixture.plugins}-new`, fixture.plugins);
    assert.equal((await swapped).spec?.plugins_dir, join(fixture.plugins, "../v2"));
    assert.deepEqual(fixture.retired, [first?.key]);
  });

  test("a change without an event is found by looking", async () => {
    await using fixture = await openFixture({
      "a.ts": `import "./.git/b.ts"; export default () => 1;`,
      ".git/b.ts": "export const b = 1;",
    });
    // Nothing is watched there: all events are lost.
    const catalog = await fixture.open({ pollMs: 50 });
    const { version } = catalog.find("a") ?? {};
    const changed = fixture.change((flow) => flow.version !== version);
    await fixture.write(".git/b.ts", "export const b = 2;");
    await changed;
  });

  test("a folder behind a link is watched, also where the link is set to another", async () => {
    await using fixture = await openFixture({
      "../v1/a.ts": greet("one"),
      "../v2/a.ts": greet("two"),
    });
    await symlink("v1", fixture.plugins);
    const catalog = await fixture.open({ pollMs: 3_600_000 });
    for (const name of ["b", "c"]) {
      const added = fixture.change(isReady(name));
      await fixture.write(`${name}.ts`, greet(name));
      await added;
      await symlink("v2", `${fixture.plugins}-new`);
      await rename(`${fixture.plugins}-new`, fixture.plugins);
      await catalog.reload();
    }
  });

  test("a package that is installed is tried at once", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    let isInstalled = false;
    await fixture.open({
      pollMs: 3_600_000,
      async inspect(spec) {
        return isInstalled ? inspect(spec) : { kind: "broken", message: "No pkg", stack: null };
      },
    });
    const ready = fixture.change(isReady("a"));
    await fixture.write("node_modules/pkg/index.js", "");
    isInstalled = true;
    await fixture.write("node_modules/.package-lock.json", "{}");
    await ready;
  });

  test("threads go where packages may have changed, and the log says so", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open({ pollMs: 3_600_000 });
    await catalog.reload();
    assert.deepEqual(fixture.retired, [], "there are no packages");
    await fixture.write("node_modules/.package-lock.json", "{}");
    await catalog.reload();
    assert.deepEqual(fixture.retired, ["all"]);
    assert.equal(fixture.logged.filter((line) => line.includes(PACKAGES_CHANGED)).length, 1);
    await catalog.reload();
    assert.deepEqual(fixture.retired, ["all", "all"], "a file inside one may be another");
    await fixture.remove("node_modules");
    await catalog.reload();
    assert.equal(fixture.logged.filter((line) => line.includes(PACKAGES_CHANGED)).length, 2);
  });

  test("a module that flows import need not export a flow as its default", async () => {
    await using fixture = await openFixture({
      "a.ts": `import prices from "./prices.ts"; export default () => prices;`,
      "prices.ts": "export default { vat: 0.19 };",
      "alone.ts": "export default class {}",
    });
    const catalog = await fixture.open();
    const states = () => catalog.list().map(({ name, state }) => [name, state]);
    const alone = ["alone", "broken"];
    assert.deepEqual(states(), [["a", "ready"], alone]);
    await fixture.remove("a.ts");
    await catalog.reload();
    assert.deepEqual(states(), [alone, ["prices", "broken"]]);
  });

  test("what a flow imports is a module while the flow is half written or shares its name", async () => {
    const right = `import prices from "./prices.ts"; export default () => prices;`;
    await using fixture = await openFixture({
      "a.ts": right,
      "prices.ts": "export default { vat: 0.19 };",
    });
    const catalog = await fixture.open();
    const states = () => catalog.list().map(({ name, state }) => [name, state]);
    assert.deepEqual(states(), [["a", "ready"]]);
    const isHeld = async (fault: RegExp) => {
      await catalog.reload();
      assert.match(catalog.find("a")?.error?.message ?? "", fault);
      assert.deepEqual(states(), [["a", "broken"]]);
    };
    await fixture.write("a.ts", "\n");
    await isHeld(/is empty/);
    await fixture.write("a.ts", right);
    await fixture.write("a.js", greet("a"));
    await isHeld(/have the same flow name/);
    await fixture.remove("a.js");
    await fixture.write("a.ts", `${right} import "./_out.ts";`);
    await symlink("/etc/hostname", join(fixture.plugins, "_out.ts"));
    await isHeld(/is a link that leads out/);
  });

  test("a link to a folder elsewhere is told, once", async () => {
    await using fixture = await openFixture({ "a.ts": greet("a"), "../other/b.ts": greet("b") });
    await symlink("../other", join(fixture.plugins, "team"));
    await symlink(".", join(fixture.plugins, "self"));
    await symlink("../other", join(fixture.plugins, "_draft"));
    const catalog = await fixture.open();
    await fixture.write("bad/bundle.yaml", "name: [1]");
    await catalog.reload();
    await catalog.reload();
    const told = fixture.logged.filter((line) => /is a link to a folder|bundle\.yaml/.test(line));
    assert.match(told[0] ?? "", /'team' is a link to a folder outside of PLUGINS_DIR/);
    assert.match(told[1] ?? "", /Cannot read 'bad\/bundle\.yaml'/);
    assert.equal(told.length, 2);
  });

  test("a passing fault of the disk is got over without an event", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open({ pollMs: 50 });
    const blocked = join(fixture.data, "versions", "b");
    await symlink("/dev/null/x", blocked);
    await fixture.write("b.ts", greet("two"));
    await catalog.reload();
    assert.match(catalog.find("b")?.error?.message ?? "", /Cannot copy the flow's files/);
    const mended = fixture.change(isReady("b"));
    await rm(blocked);
    await mended;
  });

  test("a failed import is tried again, in growing pauses and without noise", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    let tries = 0;
    const catalog = await fixture.open({
      pollMs: 10,
      async inspect(spec) {
        tries++;
        return tries < 3 ? { kind: "broken", message: "Too slow", stack: null } : inspect(spec);
      },
    });
    assert.equal(catalog.find("a")?.state, "broken");
    await fixture.change(isReady("a"));
    assert.equal(tries, 3);
    assert.equal(fixture.logged.filter((line) => line.includes("Too slow")).length, 1);
  });

  test("a flow whose file is cut to nothing keeps serving", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one"), "b.ts": "" });
    const catalog = await fixture.open();
    assert.equal(catalog.find("b"), undefined);
    await fixture.write("a.ts", "\n");
    await catalog.reload();
    assert.match(catalog.find("a")?.error?.message ?? "", /'a.ts' is empty/);
    assert.ok(catalog.find("a")?.spec);
    const halves: readonly (readonly [text: string, fault: RegExp])[] = [
      ["// greets\nconst one = 1;", /'a.ts' exports nothing; delete it to remove the flow/],
      ["export const one = { a: [", /[Ee]xpected/],
    ];
    for (const [text, fault] of halves) {
      await fixture.write("a.ts", text);
      await catalog.reload();
      assert.match(catalog.find("a")?.error?.message ?? "", fault);
      assert.ok(catalog.find("a")?.spec, text);
      assert.match(await readFile(join(fixture.data, "versions/a/serving"), "utf8"), /^\w{16}$/);
    }
    await fixture.write("a.ts", "export const one = 1;");
    await catalog.reload();
    assert.equal(catalog.find("a"), undefined);
  });

  test("files that are links into a folder that is swapped, as a ConfigMap mounts them", async () => {
    await using fixture = await openFixture({
      "..v1/a.ts": `import "./_b.ts"; export default () => 1;`,
      "..v1/_b.ts": "export const b = 1;",
      "..v2/a.ts": `import "./_b.ts"; export default () => 2;`,
      "..v2/_b.ts": "export const b = 2;",
    });
    await symlink("..v1", join(fixture.plugins, "..data"));
    for (const path of ["a.ts", "_b.ts"]) {
      await symlink(`..data/${path}`, join(fixture.plugins, path));
    }
    const catalog = await fixture.open();
    const first = catalog.find("a")?.version;
    assert.ok(first);
    const swapped = fixture.change((flow) => flow.version !== first);
    await symlink("..v2", join(fixture.plugins, "..data-new"));
    await rename(join(fixture.plugins, "..data-new"), join(fixture.plugins, "..data"));
    const { spec } = await swapped;
    assert.match(await readFile(spec?.entry ?? "", "utf8"), /=> 2/);
    assert.match(await readFile(join(spec?.directory ?? "", "_b.ts"), "utf8"), /b = 2/);
  });

  test("a folder that cannot be read stops nothing, and what served out of it goes on", async () => {
    // Root reads everything.
    if (process.geteuid?.() === 0) process.seteuid?.(65_534);
    try {
      await using fixture = await openFixture({ "sub/b.ts": greet("b"), "lost/x": "" });
      await chmod(join(fixture.plugins, "lost"), 0);
      const first = await fixture.open();
      const good = first.find("sub.b")?.version;
      assert.ok(good);
      const sub = join(fixture.plugins, "sub");
      await chmod(sub, 0);
      await fixture.write("a.ts", greet("a"));
      await first.reload();
      const told = () => first.list().map(({ name, state, version }) => [name, state, version]);
      const held = ["sub.b", "broken", good];
      assert.deepEqual(told(), [["a", "ready", first.find("a")?.version], held]);
      assert.match(first.find("sub.b")?.error?.message ?? "", /^Cannot read the folder 'sub' of/);
      await first[Symbol.asyncDispose]();
      const second = await fixture.open();
      await second.reload();
      const { state, version } = second.find("sub.b") ?? {};
      assert.deepEqual(["sub.b", state, version], held, "also after a restart");
      const complaints = fixture.logged.filter((line) => line.includes("the folder 'lost' of"));
      assert.equal(complaints.length, 2, "each service tells it once");
      for (const folder of [sub, join(fixture.plugins, "lost")]) await chmod(folder, 0o700);
      await second.reload();
      assert.equal(second.find("sub.b")?.state, "ready");
    } finally {
      if (process.getuid?.() === 0) process.seteuid?.(0);
    }
  });

  test("a file that is not there has its time to come back", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open();
    const gone = fixture.change((flow) => flow.name === "a").then(() => performance.now());
    await fixture.remove("a.ts");
    const begun = performance.now();
    await catalog.reload();
    assert.equal(catalog.find("a"), undefined);
    assert.ok((await gone) - begun > QUIET_MS - 1, "as when it is replaced");
  });

  test("a set of files that is written one after the other is taken as a whole", async () => {
    const files = (word: string) => ({
      "a.ts": `import "./_x/1.ts"; export default () => "${word}";`,
      "_x/1.ts": `import "./2.ts"; export const one = "${word}";`,
      "_x/2.ts": `import "../a.ts"; export const two = "${word}";`,
    });
    await using fixture = await openFixture(files("old"));
    const catalog = await fixture.open();
    const versions = new Set<string | null>();
    const word = await takenAtOnce(catalog, async (round) => {
      versions.clear();
      const first = catalog.find("a")?.version;
      const done = fixture.change((flow) => {
        versions.add(flow.version);
        return flow.version !== first;
      });
      for (const [path, text] of Object.entries(files(`new ${round}`)))
        await fixture.write(path, text);
      return { done };
    });
    const spec = catalog.find("a")?.spec;
    assert.equal(versions.size, 1);
    for (const path of Object.keys(files(""))) {
      const text = await readFile(join(spec?.directory ?? "", path), "utf8");
      assert.ok(text.includes(`new ${word}`), text);
    }
  });

  test("a file with the same size and time as before is seen to differ", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open();
    const path = join(fixture.plugins, "a.ts");
    const { atime, mtime } = await stat(path);
    const first = catalog.find("a")?.version;
    await writeFile(path, greet("two"));
    await utimes(path, atime, mtime);
    await catalog.reload();
    assert.notEqual(catalog.find("a")?.version, first);
  });

  test("what the service writes is never a flow, wherever DATA_DIR lies", async () => {
    await using fixture = await openFixture({
      "a.ts": `export default () => "./data/versions/x/b.ts";`,
      "data/versions/x/b.ts": greet("b"),
    });
    const inside = await fixture.open({ dataDir: join(fixture.plugins, "data") });
    await inside.reload();
    assert.deepEqual(
      inside.list().map((flow) => flow.name),
      ["a"],
    );
    await inside[Symbol.asyncDispose]();
    await fixture.remove("data");
    const same = await fixture.open({ dataDir: fixture.plugins });
    await same.reload();
    assert.deepEqual(
      same.list().map((flow) => flow.name),
      ["a"],
    );
  });

  test("what another service has written is never a flow", async () => {
    await using fixture = await openFixture({
      "a.ts": greet("a"),
      "data/lock.db": "",
      "data/versions/x/b.ts": greet("b"),
      "versions/c.ts": greet("c"),
    });
    const names = async () => {
      await using catalog = await fixture.open();
      return catalog.list().map((flow) => flow.name);
    };
    assert.deepEqual(await names(), ["a", "versions.c"]);
    await fixture.write("lock.db", "");
    assert.deepEqual(await names(), ["a"]);
  });

  test("a file that is written in pieces is taken when it is whole", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open();
    const seen = new Set<string>();
    const word = await takenAtOnce(catalog, async (round) => {
      seen.clear();
      const first = catalog.find("a")?.version;
      const done = fixture.change((flow) => {
        seen.add(flow.state);
        return flow.version !== first;
      });
      const text = greet(`two ${round}`);
      for (let end = 1; end <= text.length; end++) {
        await writeFile(join(fixture.plugins, "a.ts"), text.slice(0, end));
      }
      return { done };
    });
    const entry = catalog.find("a")?.spec?.entry ?? "";
    assert.equal(await readFile(entry, "utf8"), greet(`two ${word}`));
    assert.deepEqual(seen, new Set(["ready"]));
  });

  test("grants what is declared and allowed, and breaks what asks for more", async () => {
    await using fixture = await openFixture({
      "net.ts": flowOf("permissions: { net: true }"),
      "read.ts": flowOf("permissions: { read: ['/srv/in/x.csv', 'tables'] }"),
      "write.ts": flowOf("permissions: { write: ['/srv/input'] }"),
      "slow.ts": flowOf("timeout_sec: 601"),
      "quick.ts": flowOf("timeout_sec: 0.5, memory_mb: 256"),
      "big.ts": flowOf("memory_mb: 513"),
    });
    const allow = { net: false, read: ["/srv/in", "tables"], write: ["/srv/in"] };
    const catalog = await fixture.open({ allow, timeoutMaxMs: 600_000 });
    const message = (name: string) => catalog.find(name)?.error?.message ?? "";
    assert.match(message("net"), /ALLOW_NET/);
    assert.match(message("write"), /'\/srv\/input'.*ALLOW_WRITE/);
    assert.match(message("slow"), /timeout_sec 601.*FLOW_TIMEOUT_MAX_SEC is 600/);
    assert.match(message("big"), /memory_mb 513.*512/);
    assert.deepEqual(catalog.find("read")?.spec?.grants, {
      net: false,
      read: ["/srv/in/x.csv", join(fixture.plugins, "tables")],
      write: [],
      secrets: [],
    });
    assert.equal(catalog.find("quick")?.timeoutMs, 500);
    assert.equal(catalog.find("quick")?.spec?.memory_mb, 256);
  });

  test("a last good version that today's limits forbid does not serve", async () => {
    await using fixture = await openFixture({ "net.ts": flowOf("permissions: { net: true }") });
    const first = await fixture.open();
    const version = first.find("net")?.version ?? "";
    await first[Symbol.asyncDispose]();
    const second = await fixture.open({ allow: { net: false, read: [], write: [] } });
    assert.equal(second.find("net")?.spec, null);
    assert.equal(await second.findVersion("net", version), undefined);
  });

  test("flows belong to the nearest bundle", async () => {
    await using fixture = await openFixture({
      "crm/bundle.yaml": "name: Customers\ndescription: All about them\n",
      "crm/new.ts": greet("new"),
      "crm/mail/bundle.yaml": "",
      "crm/mail/send.ts": greet("send"),
      "bad/bundle.yaml": "name: [1]",
      "bundle.yaml": "name: root",
      "hello.ts": greet("hello"),
    });
    const catalog = await fixture.open();
    assert.deepEqual(catalog.bundles(), [
      { name: "bad", directory: "bad", description: null },
      { name: "Customers", directory: "crm", description: "All about them" },
      { name: "crm.mail", directory: "crm/mail", description: null },
    ]);
    assert.equal(catalog.find("crm.new")?.bundle, "Customers");
    assert.equal(catalog.find("crm.mail.send")?.bundle, "crm.mail");
    assert.equal(catalog.find("hello")?.bundle, null);
    assert.ok(fixture.logged.some((line) => line.includes("bundle.yaml")));
  });

  test("a version that the runner gave up serves again after a reload by hand", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open();
    const { version = "", spec } = catalog.find("a") ?? {};
    catalog.markBroken(spec?.key ?? "", "It took the runner down three times");
    assert.equal(catalog.find("a")?.state, "broken");
    assert.equal(catalog.find("a")?.spec, null);
    assert.equal(await catalog.findVersion("a", version ?? ""), undefined);
    assert.deepEqual(fixture.retired, [spec?.key]);
    await fixture.write("b.ts", greet("b"));
    await catalog.idle();
    assert.equal(catalog.find("a")?.state, "broken");
    await catalog.reload();
    assert.equal(catalog.find("a")?.version, version);
    assert.equal(catalog.find("a")?.state, "ready");
  });

  test("keeps the serving version and the ten newest others", async () => {
    await using fixture = await openFixture({ "a.ts": greet("0") });
    const catalog = await fixture.open();
    const seen = [catalog.find("a")?.version ?? ""];
    for (let round = 1; round <= 14; round++) {
      await fixture.write("a.ts", greet(String(round)));
      await catalog.reload();
      seen.push(catalog.find("a")?.version ?? "");
    }
    assert.equal(new Set(seen).size, 15);
    assert.deepEqual(await fixture.versions("a"), seen.slice(-11).toSorted());
    assert.equal(await catalog.findVersion("a", seen[0] ?? ""), undefined);
    assert.ok(await catalog.findVersion("a", seen[4] ?? ""));
    await fixture.write("a.ts", greet("4"));
    await catalog.reload();
    assert.equal(catalog.find("a")?.version, seen[4]);
  });

  test("gives the source as it is in the folder", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open();
    assert.equal(await catalog.source("a"), greet("one"));
    assert.equal(await catalog.source("b"), null);
  });

  test("closes while imports do not end, and others wait for their turn", async () => {
    await using fixture = await openFixture({ "a.ts": greet("one") });
    const catalog = await fixture.open();
    const hung = Promise.withResolvers<void>();
    let inspected = 0;
    const stuck = await fixture.open({
      dataDir: `${fixture.data}-2`,
      plugins_dir: `${fixture.plugins}-2`,
      inspect() {
        inspected += 1;
        if (inspected === 2) hung.resolve();
        return new Promise(() => {});
      },
    });
    for (const name of ["b", "c", "d", "e"])
      await fixture.write(`../plugins-2/${name}.ts`, greet(name));
    await hung.promise;
    await stuck[Symbol.asyncDispose]();
    assert.equal(inspected, 2);
    assert.equal(catalog.find("a")?.state, "ready");
  });
});

function flowOf(members: string): string {
  return `import { defineFlow } from "flowhook"; export default defineFlow({ ${members}, run() {} });`;
}
