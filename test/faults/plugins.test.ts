import assert from "node:assert/strict";
import { appendFile, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openGate } from "../api/gate.ts";
import { executionId, poll } from "../blackbox/scenario.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { figure, RELOADS } from "./sizes.ts";

/** Files that should not be in PLUGINS_DIR, and files that change at the wrong moment. */

const BROKEN: Readonly<Record<string, string>> = {
  "syntax.ts": "export default function (flow) { return {",
  "throws.ts": `throw new Error("at import"); export default () => 1;`,
  "throws-null.js": "throw null; export default () => 1;",
  "exits.js": "process.exit(0); export default () => 1;",
  "rejects.js": "Promise.reject(new Error('late')); export default () => 1;",
  "missing.ts": `import { nothing } from "./not-here.ts"; export default () => nothing;`,
  "cycle.ts": `import other from "./cycle-b.ts"; export default () => other;`,
  "cycle-b.ts": `import other from "./cycle.ts"; export default () => other;`,
  "forbidden.ts": `import { readFileSync } from "node:fs"; export default () => readFileSync("/etc/passwd");`,
  "enum.ts": "enum A { B } export default () => A.B;",
  "wrong.ts": "export default 7;",
  "options.js": "export default { timeout_sec: -1, run: () => 1 };",
  "getter.js": "export default { get run() { throw new Error('no'); } };",
  "binary.js": "\u0000\u0001\u0002\ufffd",
  "empty.ts": "",
  "nul name.ts": "export default () => 1;",
  "then.js":
    "export const then = (resolve) => resolve({ default: () => 2 }); export default () => 1;",
};

/** Runs until the gate at the address in `gate` opens. */
const GATED = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { net: true },
  run: async ({ input_value }) => (await fetch(input_value.query.gate)).text(),
});
`;

/** Gives the version of a package. */
const PRICED = `import prices from "prices/package.json" with { type: "json" };
export default () => prices.version;
`;

const edition = (number: number): string =>
  GATED.replace("defineFlow({", 'defineFlow({ isolation: "execution",').replace(
    ").text()",
    `).text().then(() => ${number})`,
  );

/** Written into the folder of a service that runs: each import has its time. */
const ENDLESS: Readonly<Record<string, string>> = {
  "loops.js": "for (;;); export default () => 1;",
  "waits.js": "await new Promise(() => {}); export default () => 1;",
  "memory.js": "const all = []; for (;;) all.push({}); export default () => 1;",
};

interface Shown {
  readonly name: string;
  readonly state: string;
}

describe("plugins", () => {
  let service: TestService;
  before(async () => {
    const begun = performance.now();
    service = await openTestService({
      config: { SYNC_MODE: "hold", WORKER_THREADS: 4 },
      flows: ["echo"],
      files: { ...BROKEN, "changing.js": version(0), "gated.ts": GATED },
      prepare: async (directory) => {
        await symlink("/etc/passwd", join(directory, "plugins/link.ts"));
        await symlink("nowhere", join(directory, "plugins/dangling.ts"));
        await mkdir(join(directory, "plugins/folder.ts"));
      },
    });
    figure(
      `plugins: start with ${Object.keys(BROKEN).length} broken files`,
      performance.now() - begun,
      "ms",
    );
    for (const flow of ["echo", "gated", "changing", "syntax"])
      await service.createWebhook(flow, flow, { is_productive: true });
  });
  after(() => service[Symbol.asyncDispose]());

  test("broken files break nothing else, and are shown with their reason", async () => {
    assert.equal((await service.call("echo")).status, 200);
    const broken = await brokenFlows(service);
    figure("plugins: broken flows shown", broken.length);
    for (const name of ["syntax", "throws", "missing", "enum", "wrong", "options"])
      assert.ok(broken.includes(name), `"${name}" is not shown as broken: ${broken.join(", ")}`);
    const { text } = await service.api("GET", "/flow");
    assert.ok(!text.includes("root:x:0"), "nothing of a linked file is shown");
    const called = await service.call("syntax");
    const message = 'ENDED_ERROR: Flow "syntax" is broken, and no version of it serves';
    assert.deepEqual([called.status, called.text], [500, message]);
    await service.assertAlive();
  });

  test("a half-written file is not taken", async () => {
    const file = join(service.plugins, "changing.js");
    const whole = version(1);
    await writeFile(file, whole.slice(0, 30));
    assert.match((await service.call("changing")).text, /^0$/);
    await appendFile(file, whole.slice(30));
    await serves(service, 1);
    await writeFile(file, "export default (");
    await poll("the flow to be shown as broken", async () => {
      const { text } = await service.api("GET", "/flow/changing");
      return (JSON.parse(text) as { state: string }).state === "broken" ? true : null;
    });
    assert.match((await service.call("changing")).text, /^1$/, "the last good version serves");
  });

  test("the next calls have the packages that were installed last, and that were edited", async () => {
    await install(service, "1.0.0");
    await writeFile(join(service.plugins, "priced.ts"), PRICED);
    await service.api("POST", "/flow/reload");
    await service.createWebhook("priced", "priced", { is_productive: true });
    assert.equal((await service.call("priced")).text, '"1.0.0"');
    await install(service, "2.0.0");
    await poll("the new package", async () =>
      (await service.call("priced")).text === '"2.0.0"' ? true : null,
    );
    await edit(service, "3.0.0");
    await service.api("POST", "/flow/reload");
    assert.equal((await service.call("priced")).text, '"3.0.0"');
  });

  test("a flow that is deleted while it runs", async () => {
    await using gate = await openGate();
    const call = service.call("gated", `?gate=${gate.url}`);
    await gate.arrived;
    await rm(join(service.plugins, "gated.ts"));
    await poll("it to be gone", async () => {
      const gone = await service.call("gated");
      return gone.status === 500 && /not in the plugins folder/.test(gone.text) ? true : null;
    });
    gate.open();
    const answer = await call;
    assert.equal(answer.status, 200, answer.text);
  });

  test("what waits runs the version that it was called with, whatever is edited, also after a kill", async () => {
    await using gate = await openGate();
    await using own = await openTestService({
      config: { FLOW_MAX_CONCURRENT: 1 },
      files: { "edited.ts": edition(0) },
    });
    await own.createWebhook("edited", "edited", { is_productive: true });
    const start = async () => executionId(await own.call("edited", `?async&gate=${gate.url}`));
    const ids = [await start()];
    await gate.arrived;
    ids.push(await start(), await start());
    for (let number = 1; number <= 12; number += 1) {
      const version = async () => JSON.parse((await own.api("GET", "/flow/edited")).text).version;
      const before = await version();
      await writeFile(join(own.plugins, "edited.ts"), edition(number));
      await poll("the new version", async () => ((await version()) === before ? null : true));
    }
    await own.kill();
    gate.open();
    await own.start();
    const ended = await poll("all to have ended", async () => {
      const found = await Promise.all(ids.map((id) => own.api("GET", `/execution/${id}`)));
      const all = found.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
      return all.every(({ ended_at }) => ended_at !== null) ? all : null;
    });
    assert.deepEqual(
      ended.map(({ status_message, output_value }) => status_message ?? output_value),
      ["interrupted by a restart", 0, 0],
    );
    await own.api("POST", "/flow/reload");
    const first = await own.api(
      "GET",
      `/flow/edited/version/${String(ended[1]?.["flow_version"])}`,
    );
    assert.equal(first.status, 200, "until the next edit");
  });

  test("many reloads under calls", async () => {
    const stop = new AbortController();
    const errors: string[] = [];
    let calls = 0;
    const caller = (async () => {
      while (!stop.signal.aborted) {
        const { status, text } = await service.call("changing");
        if (status !== 200) errors.push(text);
        calls += 1;
      }
    })();
    const begun = performance.now();
    for (let n = 2; n < RELOADS + 2; n += 1) {
      // A rename puts the whole file in place at once, as editors do.
      await writeFile(join(service.plugins, "_next"), version(n));
      await rename(join(service.plugins, "_next"), join(service.plugins, "changing.js"));
      await serves(service, n);
    }
    const took = performance.now() - begun;
    stop.abort();
    await caller;
    figure("plugins: reloads", RELOADS);
    figure("plugins: from a change to its first answer, mean", took / RELOADS, "ms");
    figure("plugins: calls meanwhile", calls);
    figure("plugins: calls that failed", errors.length);
    assert.deepEqual(errors, []);
  });

  test("imports that never end are given up", async () => {
    for (const [name, text] of Object.entries(ENDLESS))
      await writeFile(join(service.plugins, name), text);
    await poll("all to be broken", async () => {
      const broken = await brokenFlows(service);
      return ["loops", "waits", "memory"].every((name) => broken.includes(name)) ? true : null;
    });
    assert.equal((await service.call("echo")).status, 200);
    await service.assertAlive();
  });
});

/** As npm does: its record comes last. */
async function install(service: TestService, version: string): Promise<void> {
  await edit(service, version);
  const packages = { "node_modules/prices": { version } };
  await writeFile(
    join(service.plugins, "node_modules/.package-lock.json"),
    JSON.stringify({ name: "plugins", lockfileVersion: 3, packages }),
  );
}

/** Changes a file inside of the package, and nothing else. */
async function edit(service: TestService, version: string): Promise<void> {
  const folder = join(service.plugins, "node_modules/prices");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "prices", version }));
}

async function brokenFlows(service: TestService): Promise<string[]> {
  const { text } = await service.api("GET", "/flow");
  const { items } = JSON.parse(text) as { items: readonly Shown[] };
  return items.filter(({ state }) => state === "broken").map(({ name }) => name);
}

function version(n: number): string {
  return `// version ${n} of a flow\nexport default () => ${n};\n`;
}

function serves(service: TestService, n: number): Promise<true> {
  return poll(`version ${n}`, async () =>
    (await service.call("changing")).text === String(n) ? true : null,
  );
}
