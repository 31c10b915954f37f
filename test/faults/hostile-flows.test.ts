import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { HOSTILE_FLOW, hostileProgram } from "./hostile-programs.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { figure, HOSTILE_SEC, openRandom, SEED } from "./sizes.ts";

/**
 * Hostile flows, made by a seed, beside flows that mean no harm: these get the right answers, all
 * of them, and nothing of theirs is seen by the others.
 */

const CANARY = /CANARY-[0-9a-f]{12}/;
const SECRET = "CANARY-5ec4e75ec4e7";

const HARMLESS: Readonly<Record<string, string>> = {
  "echoes.ts": `export default (flow: { input_value: { json: unknown } }) => flow.input_value.json;`,
  "waits.ts": `export default async (flow) => { const given = JSON.stringify(flow.input_value.json); await new Promise((done) => setTimeout(done, 20)); return JSON.parse(given); };`,
  "zips.ts": `import { gzip, gunzip } from "node:zlib"; import { promisify } from "node:util";
    export default async (flow) => JSON.parse(String(await promisify(gunzip)(await promisify(gzip)(JSON.stringify(flow.input_value.json)))));`,
  "knows.ts": `import { defineFlow } from "flowhook";
    export default defineFlow({ permissions: { secrets: ["CANARY"] }, run: async (flow) => (await flow.secret("CANARY")) === "${SECRET}" ? flow.input_value.json : "wrong" });`,
};

/** A mistake of its author: what a caller sends may change what all objects inherit. */
const MERGES = `const merge = (into, from) => { for (const key of Object.keys(from)) if (typeof from[key] === "object" && from[key] !== null && into[key]) merge(into[key], from[key]); else into[key] = from[key]; return into; };
  export default (flow) => { merge({}, flow.input_value.json); flow.webhook_response({ status: 200 }); return null; };`;

const POLLUTED = [
  "status",
  "headers",
  "body",
  "content-type",
  "then",
  "toJSON",
  "id",
  "type",
  "ending",
  "0",
  "length",
  "get",
  "constructor",
  "x",
];

const FILES: Readonly<Record<string, string>> = {
  "hostile-ts.ts": define("", `// @ts-nocheck\n${HOSTILE_FLOW}`),
  "hostile-mjs.mjs": define("permissions: { net: true },", HOSTILE_FLOW),
  "hostile-apart.mjs": define('isolation: "execution",', HOSTILE_FLOW),
  "hostile-writes.mjs": define('permissions: { write: ["<out>"] },', HOSTILE_FLOW),
};

function define(members: string, code: string): string {
  const flow = `export default defineFlow({ ${members} timeout_sec: 1, run: hostile });`;
  return `import { defineFlow } from "flowhook";\n${code.replace("export default ", "")}\n${flow}\n`;
}

const nameOf = (file: string): string => file.replace(/\.\w+$/, "");

/** What came of it, in numbers and in words. */
class Told {
  programs = 0;
  harmless = 0;
  readonly lost: string[] = [];
  readonly canaries: string[] = [];
  readonly endings = new Map<string, number>();

  count(status: string): void {
    this.endings.set(status, (this.endings.get(status) ?? 0) + 1);
  }
}

async function post(service: TestService, webhook: string, json: unknown, query = "") {
  const headers = { "content-type": "application/json" };
  return service.call(webhook, query, { method: "POST", headers, body: JSON.stringify(json) });
}

async function attack(service: TestService, file: string, told: Told, random: () => number) {
  const program = hostileProgram(random);
  const webhook = nameOf(file);
  const started = await post(service, webhook, { program }, "?async");
  told.programs += 1;
  if (told.programs % 50 === 0) await renew(service, file);
  if (started.status !== 201) return told.count(String(started.status));
  const id = started.text;
  for (;;) if ((await service.api("GET", `/execution/${id}/wait`)).status === 200) break;
  const [record, log] = [
    await service.api("GET", `/execution/${id}`),
    await service.api("GET", `/execution/${id}/log`),
  ];
  told.count((JSON.parse(record.text) as { status: string }).status);
  for (const { text } of [record, log]) {
    const seen = CANARY.exec(text);
    if (seen !== null) told.canaries.push(`${seen[0]} by ${file}:\n${program}`);
  }
}

async function beHarmless(service: TestService, told: Told, random: () => number) {
  const webhook = nameOf(Object.keys(HARMLESS)[told.harmless % Object.keys(HARMLESS).length] ?? "");
  const hex = () =>
    Math.floor(random() * 2 ** 24)
      .toString(16)
      .padStart(6, "0");
  const json = { canary: `CANARY-${hex()}${hex()}`, list: [1, null, { a: "é" }] };
  const { status, text } = await post(service, webhook, json);
  told.harmless += 1;
  if (status !== 200 || text !== JSON.stringify(json))
    told.lost.push(`${webhook}: ${status} ${text.slice(0, 300)}`);
}

async function pollute(service: TestService, told: Told, random: () => number) {
  const name = POLLUTED[Math.floor(random() * POLLUTED.length)] ?? "";
  const value = random() < 0.5 ? { "content-type": "text/html", a: "polluted" } : "polluted";
  const text = `{"__proto__": {${JSON.stringify(name)}: ${JSON.stringify(value)}}}`;
  const headers = { "content-type": "application/json" };
  await service.call("merges", "", { method: "POST", headers, body: text });
  const answer = await post(service, "merges", {});
  told.harmless += 1;
  if (answer.status !== 200 || answer.text !== "" || answer.headers["content-type"] !== undefined)
    told.lost.push(
      `merges after ${text}: ${answer.status} ${answer.headers["content-type"]} ${answer.text.slice(0, 300)}`,
    );
}

/** A version that took its runners down is broken: another takes its place. */
async function renew(service: TestService, file: string) {
  const { text } = await service.api("GET", `/flow/${nameOf(file)}`);
  if ((JSON.parse(text) as { state: string }).state === "ready") return;
  const code = `${FILES[file]}\n// ${performance.now()}\n`;
  await writeFile(
    join(service.plugins, file),
    code.replaceAll("<out>", `${service.directory}/out`),
  );
  await service.api("POST", "/flow/reload");
}

describe("hostile flows", () => {
  test("C3, C4, H2, H3: what they change and send costs nobody else anything", async () => {
    await using service = await openTestService({
      config: {
        SYNC_MODE: "hold",
        CANCEL_GRACE_SEC: 0.2,
        MAX_BODY_BYTES: 1_000_000,
        WORKER_THREADS: 8,
      },
      files: { ...HARMLESS, "merges.ts": MERGES, ...FILES },
    });
    await service.api("POST", "/secret", { name: "CANARY", value: SECRET });
    for (const file of [...Object.keys(HARMLESS), "merges.ts", ...Object.keys(FILES)])
      await service.createWebhook(nameOf(file), nameOf(file), { role: "webhook" });
    const { pid } = service;
    const told = new Told();
    const ends_at = performance.now() + HOSTILE_SEC * 1000;
    const random = openRandom(SEED);
    const again = async (act: () => Promise<unknown>) => {
      while (performance.now() < ends_at) await act();
    };
    await Promise.all([
      ...Object.keys(FILES).map((file) => again(() => attack(service, file, told, random))),
      again(() => beHarmless(service, told, random)),
      again(() => beHarmless(service, told, random)),
      again(() => pollute(service, told, random)),
    ]);
    figure("hostile flows: seed", SEED);
    figure("hostile flows: programs", told.programs);
    for (const [status, count] of told.endings) figure(`hostile flows: ended as ${status}`, count);
    figure("hostile flows: deaths of the server", service.pid === pid ? 0 : 1);
    figure("hostile flows: executions of other flows", told.harmless);
    figure("hostile flows: executions of other flows lost", told.lost.length);
    figure("hostile flows: canaries of other flows seen", told.canaries.length);
    await service.assertAlive();
    assert.deepEqual(told.lost.slice(0, 5), []);
    assert.deepEqual(told.canaries.slice(0, 5), []);
  });
});
