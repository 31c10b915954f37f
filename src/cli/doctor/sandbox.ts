import { createServer } from "node:http";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { readAsset } from "../../assets/read.ts";
import { openRuntime } from "../../assets/runtime.ts";
import { databaseFile, type Config } from "../../server/config/resolve.ts";
import { Scheduler } from "../../server/executions/scheduler.ts";
import type { Flow } from "../../server/flows/catalog.ts";
import { openFlows, type Flows } from "../../server/flows.ts";
import type { Run } from "../../server/workers/worker.ts";
import { newId } from "../../shared/id.ts";
import { openLog } from "../../shared/log.ts";
import type { Ending, FlowSpec } from "../../shared/wire/protocol.ts";
import { reportOn, type Finding } from "./finding.ts";

const sandbox = reportOn("sandbox");
const flows = reportOn("flows");

const SILENT = { level: "silent", format: "json" } as const;

/** Longest run of the flow below, in milliseconds. */
const RUN_MS = 20_000;

const ACTION =
  "Start no flows that you do not trust on this machine, and report it with the version of " +
  "Flowhook and of the system";

interface Answer {
  readonly done: readonly string[];
  readonly refused: readonly string[];
}

/**
 * Runs a flow in a real thread of a real runner, which tries what no flow may do unasked.
 *
 * @param scratch an empty folder for it
 */
export async function examineSandbox(config: Config, scratch: string): Promise<Finding[]> {
  const plugins = join(scratch, "flows");
  mkdirSync(plugins);
  writeFileSync(join(plugins, "examine.mjs"), readAsset("doctor-flow.mjs"));
  writeFileSync(join(scratch, "readable"), "not for flows");
  const given = { ...config, DATA_DIR: scratch, PLUGINS_DIR: plugins };
  try {
    await using opened = await open(given);
    return [judge(await runIn(opened, scratch))];
  } catch (error) {
    return [sandbox.error(`No flow can run: ${(error as Error).message}`, START)];
  }
}

const START =
  "Look at the limits of this user (ulimit -a), and at what the system refuses in its log";

function judge({ status, status_message, output_value }: Ending): Finding {
  if (status !== "ENDED_SUCCESS")
    return sandbox.error(`A flow that should run ended with: ${status_message}`, START);
  const { done, refused } = JSON.parse(output_value ?? "") as Answer;
  if (done.length > 0) return sandbox.error(`A flow can ${done.join(", ")} unasked`, ACTION);
  return sandbox.ok(`A flow runs, and may not ${refused.join(", ")}`);
}

async function runIn(opened: Flows, folder: string): Promise<Ending> {
  const { spec, error } = opened.catalog.find("examine") ?? { spec: null, error: null };
  if (spec === null) throw new Error(error?.message ?? "the flow was not found");
  const server = createServer((_, outgoing) => outgoing.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    return await run(opened, spec, {
      readable: join(folder, "readable"),
      folder,
      program: process.execPath,
      port,
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** As the service would run it, without a record. */
async function run(opened: Flows, spec: FlowSpec, json: object): Promise<Ending> {
  const scheduler = new Scheduler({
    workerThreads: 1,
    flowMaxConcurrent: 1,
    warmThreads: 1,
    cancelGraceMs: 100,
    record: (runs, handOver) => setImmediate(() => handOver(runs)),
    startWorker: (version, events) => opened.runners.startWorker(version, events),
  });
  scheduler.open();
  const { promise, resolve, reject } = Promise.withResolvers<Ending>();
  try {
    scheduler.enqueue(toRun(spec, json, resolve, reject));
    return await promise;
  } finally {
    scheduler.close();
  }
}

function toRun(
  spec: FlowSpec,
  json: object,
  ended: (ending: Ending) => void,
  fail: (error: Error) => void,
): Run {
  const id = newId();
  const execution = { id, webhook: null, flow: spec.flow, is_productive: false, project_id: null };
  const input = { method: "POST", path: null, headers: {}, query: {}, json };
  return {
    id,
    flow: spec.flow,
    spec,
    job: {
      id,
      execution: JSON.stringify(execution),
      input_value: JSON.stringify(input),
      raw_body_at: null,
      raw_body: null,
      base_url: "http://flowhook",
      target: null,
    },
    link: null,
    turn: Infinity,
    abortReason: null,
    timeoutMs: RUN_MS,
    returned: () => {},
    expired: () => fail(new Error(`it did not end within ${RUN_MS / 1000} s`)),
    log: () => {},
    operate: async () => ({ ok: true, value: "null" }),
    ended,
  };
}

function open(config: Config): Promise<Flows> {
  return openFlows({ config, log: openLog(SILENT), runtime: openRuntime(config.DATA_DIR) });
}

/**
 * Loads every flow as the service would, apart from its data.
 *
 * @param scratch an empty folder for it
 */
export async function examineFlows(config: Config, scratch: string): Promise<Finding[]> {
  const given = { ...config, DATA_DIR: scratch };
  try {
    await using opened = await open(given);
    return judgeFlows(config, opened.catalog.list());
  } catch (error) {
    return [flows.error(`They cannot be loaded: ${(error as Error).message}`, START)];
  }
}

function judgeFlows(config: Config, list: readonly Flow[]): Finding[] {
  const broken = list.filter(({ state }) => state === "broken");
  const action = "flowhook check shows where. Mend it; the service takes the file up at once";
  if (broken.length > 0)
    return broken.map(({ name, file, error }) =>
      flows.error(`The flow "${name}" (${file}) cannot run: ${error?.message ?? ""}`, action),
    );
  if (list.length > 0) return [flows.ok(`All flows can run (${list.length})`)];
  const message = `There are no flows in "${config.PLUGINS_DIR}"`;
  if (databaseFile(config) === null && config.FLOWS_SHARED)
    return [
      flows.skipped(`${message}: those of other nodes serve here, where there are any`, FIRST),
    ];
  return [flows.warning(message, FIRST)];
}

const FIRST = "Write one: flowhook flow new NAME";
