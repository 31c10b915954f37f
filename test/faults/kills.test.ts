import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { poll } from "../blackbox/scenario.ts";
import { repeated } from "./repeated.ts";
import { openTestService, processFigure, type TestService } from "./test-service.ts";
import { busyFactor, figure, mostHere, openRandom, quantile, ROUNDS, SEED } from "./sizes.ts";

/**
 * The server and its runners are killed at random moments under load. An append-only list of the
 * ids that callers were given is compared with the store, and with what the flows wrote to a file
 * of their own when they ran.
 */

const RECORDING = `
  import { appendFileSync } from "node:fs";
  import { defineFlow } from "flowhook";
  export default defineFlow({
    permissions: { write: ["<out>"] },
    async run(flow) {
      appendFileSync("<out>/started", flow.execution.id + "\\n");
      await new Promise((resolve) => setTimeout(resolve, Number(flow.input_value.query.ms ?? 0)));
      return { id: flow.execution.id };
    },
  });
`;

const ECHO = `export default (flow) => flow.input_value;`;

/** What callers were told, in the order in which they were told it. */
interface Told {
  readonly acknowledged: Set<string>;
  /** Statuses that were seen to have ended, by id. */
  readonly ended: Map<string, string>;
  refused: number;
  broken: number;
}

function openTold(): Told {
  return { acknowledged: new Set(), ended: new Map(), refused: 0, broken: 0 };
}

/** Calls until it is told to stop; a connection that breaks is what the test is about. */
async function load(service: TestService, told: Told, random: () => number, stop: AbortSignal) {
  while (!stop.aborted) {
    const is_async = random() < 0.5;
    const ms = Math.floor(random() * 40);
    const path = `?ms=${ms}${is_async ? "&async" : ""}`;
    try {
      const webhook = `recording${Math.floor(random() * 3)}`;
      const answer = await service.call(webhook, path, { signal: stop });
      const id = answer.headers["flowhook-execution-id"];
      if (answer.status === 201 || answer.status === 303) told.acknowledged.add(id ?? "");
      else told.refused += 1;
      const location = answer.headers["location"];
      if (location !== undefined) await walk(service, told, webhook, location, stop);
    } catch {
      if (stop.aborted) return;
      told.broken += 1;
      await wait(5);
    }
  }
}

async function walk(
  service: TestService,
  told: Told,
  webhook: string,
  location: string,
  stop: AbortSignal,
): Promise<void> {
  const query = location.slice(location.indexOf("?"));
  const answer = await service.call(webhook, query, { signal: stop }).catch(() => null);
  const id = answer?.headers["flowhook-execution-id"];
  if (answer?.status === 200 && id !== undefined) told.ended.set(id, "ENDED_SUCCESS");
}

interface StoredRow {
  readonly id: string;
  readonly status: string;
}

/** Read with the service's own file format, from outside. */
function readStore(service: TestService): Map<string, string> {
  const db = new Database(join(service.data, "flowhook.db"), { readonly: true });
  try {
    const rows = db.prepare("select id, status from execution").all() as StoredRow[];
    return new Map(rows.map((row) => [row.id, row.status]));
  } finally {
    db.close();
  }
}

async function readStarted(service: TestService): Promise<string[]> {
  const text = await readFile(join(service.directory, "out/started"), "utf8").catch(() => "");
  return text.split("\n").filter(Boolean);
}

const CONFIG = { CANCEL_GRACE_SEC: 0.2, WORKER_THREADS: 4 };
const FILES = {
  "recording0.ts": RECORDING,
  "recording1.ts": RECORDING,
  "recording2.ts": RECORDING,
};

async function openRecordingHouse(): Promise<TestService> {
  const service = await openTestService({ config: CONFIG, files: FILES });
  for (const name of ["recording0", "recording1", "recording2"])
    await service.createWebhook(name, name, { is_productive: true });
  return service;
}

/** Waits until nothing is PENDING or RUNNING in the store. */
async function settled(service: TestService): Promise<Map<string, string>> {
  // The tables follow what was acknowledged; a list is read once they have all of it.
  const { status, text } = await service.api("GET", "/execution?limit=1");
  assert.equal(status, 200, text);
  return poll("every execution to end", async () => {
    const rows = readStore(service);
    return [...rows.values()].every((status) => status.startsWith("ENDED_")) ? rows : null;
  });
}

function compare(told: Told, rows: Map<string, string>, started: readonly string[]) {
  const lost = [...told.acknowledged].filter((id) => !rows.has(id));
  const twice = repeated(started);
  const changed = [...told.ended].filter(([id, status]) => rows.get(id) !== status);
  return { lost, twice, changed };
}

describe("kills", () => {
  test("SIGKILL of the server under load, and start again", async () => {
    await using service = await openRecordingHouse();
    const random = openRandom(SEED);
    const told = openTold();
    const starts: number[] = [];
    const all = new Map<string, string>();
    const changed: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const stop = new AbortController();
      const callers = Array.from({ length: 8 }, () => load(service, told, random, stop.signal));
      await wait(150 + random() ** 2 * 1500);
      // A busy machine may take longer for the first ones.
      const least = 2 * (round + 1);
      await poll("some to be acknowledged", async () => told.acknowledged.size >= least || null);
      await service.kill();
      stop.abort();
      await Promise.all(callers);
      for (const [id, status] of readStore(service)) {
        const before = all.get(id);
        if (before?.startsWith("ENDED_") && before !== status) changed.push(id);
        all.set(id, status);
      }
      starts.push(await service.start());
    }
    const rows = await settled(service);
    for (const [id, status] of all)
      if (status.startsWith("ENDED_") && rows.get(id) !== status) changed.push(id);
    const started = await readStarted(service);
    const found = compare(told, rows, started);
    const interrupted = [...rows.values()].filter((status) => status === "ENDED_ERROR").length;
    figure("kills of the server: seed", SEED);
    figure("kills of the server: rounds of SIGKILL", ROUNDS);
    figure("kills of the server: executions acknowledged", told.acknowledged.size);
    figure("kills of the server: flows that told of their start", started.length);
    figure("kills of the server: results that callers saw", told.ended.size);
    figure("kills of the server: executions interrupted", interrupted);
    figure("kills of the server: lost", found.lost.length);
    figure("kills of the server: run twice", found.twice.length);
    figure("kills of the server: ended status changed", found.changed.length + changed.length);
    figure("kills of the server: start again, worst", Math.max(...starts), "ms");
    assert.ok(told.acknowledged.size > ROUNDS, `seed ${SEED}: nothing was acknowledged`);
    assert.deepEqual({ ...found, changed: [...found.changed, ...changed] }, NOTHING);
  });

  test("a start that cannot listen leaves what waits to the next one", async () => {
    const config = { ...CONFIG, WORKER_THREADS: 1 };
    await using service = await openTestService({ config, files: { "recording0.ts": RECORDING } });
    await service.createWebhook("recording0", "recording0", { is_productive: true });
    const start = async (ms: number) =>
      (await service.call("recording0", `?async&ms=${ms}`)).headers["flowhook-execution-id"] ?? "";
    const running = await start(60_000);
    await poll("it to run", async () => ((await readStarted(service)).length === 1 ? true : null));
    const waiting = [await start(1), await start(1), await start(1)];
    await service.kill();

    const occupier = createServer().listen(0, "127.0.0.1");
    await once(occupier, "listening");
    const { port } = occupier.address() as AddressInfo;
    await service.configure({ LISTEN_PORT: port });
    await assert.rejects(service.start(), /EADDRINUSE/);
    occupier.close();
    await service.configure({ LISTEN_PORT: 0 });
    await service.start();

    const rows = await settled(service);
    assert.equal(rows.get(running), "ENDED_ERROR", "it was interrupted");
    for (const id of waiting) assert.equal(rows.get(id), "ENDED_SUCCESS");
  });

  test("SIGKILL of runners under load", async () => {
    await using service = await openRecordingHouse();
    const random = openRandom(SEED + 1);
    const told = openTold();
    const stop = new AbortController();
    const callers = Array.from({ length: 6 }, () => load(service, told, random, stop.signal));
    let killed = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await wait(100 + random() * 300);
      const runners = service.runners();
      const victim = runners[Math.floor(random() * runners.length)];
      if (victim === undefined) continue;
      process.kill(victim, "SIGKILL");
      killed += 1;
      // What was in it is given another chance, so that every round finds flows that serve.
      await service.api("POST", "/flow/reload");
    }
    stop.abort();
    await Promise.all(callers);
    await service.assertAlive();
    const rows = await settled(service);
    const found = compare(told, rows, await readStarted(service));
    figure("kills of runners: killed", killed);
    figure("kills of runners: executions acknowledged", told.acknowledged.size);
    figure("kills of runners: lost", found.lost.length);
    figure("kills of runners: run twice", found.twice.length);
    figure("kills of runners: ended status changed", found.changed.length);
    assert.deepEqual(found, NOTHING);
  });

  test("after a runner's death the next call is answered", async () => {
    // A flow of its own for each round: the one that was called is suspected, and set apart.
    const names = Array.from({ length: Math.max(ROUNDS, 10) }, (_, n) => `flow${n}`);
    const files = Object.fromEntries(names.map((name) => [`${name}.js`, ECHO]));
    await using service = await openTestService({ config: CONFIG, files });
    const times: number[] = [];
    for (const name of names) {
      await service.createWebhook(name, name, { is_productive: true, sync_mode: "hold" });
      await service.call(name);
      await spareIsReady(service);
      const victim = busiestRunner(service);
      const begun = performance.now();
      process.kill(victim, "SIGKILL");
      await poll("an answer", async () =>
        (await service.call(name)).status === 200 ? true : null,
      );
      times.push(performance.now() - begun);
    }
    figure("from a runner's death to the next answer: deaths", times.length);
    figure("from a runner's death to the next answer: median", quantile(times, 0.5), "ms");
    figure("from a runner's death to the next answer: p99", quantile(times, 0.99), "ms");
    await service.assertAlive();
    const shown = `took ${times.map(Math.round).join(", ")} ms`;
    assert.ok(quantile(times, 0.5) <= 500 * busyFactor(), shown);
    assert.ok(quantile(times, 0.99) <= mostHere(500), shown);
  });
});

const NOTHING = { lost: [], twice: [], changed: [] };

/** Until each of two runners has told how much memory it uses. */
async function spareIsReady(service: TestService): Promise<void> {
  await poll("a spare runner", async () => {
    const { text } = await service.api("GET", "/workspace");
    const { runners } = JSON.parse(text) as { runners: { processes: { rss_bytes: number }[] } };
    return runners.processes.filter((one) => one.rss_bytes > 0).length >= 2 ? true : null;
  });
}

/** The runner with the most threads: the one that the last call ran in. */
function busiestRunner(service: TestService): number {
  const threads = (pid: number) => processFigure(pid, "Threads");
  const found = service.runners().toSorted((a, b) => threads(b) - threads(a))[0];
  if (found === undefined) throw new Error("The service has no runner");
  return found;
}
