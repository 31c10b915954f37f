import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { poll } from "../blackbox/scenario.ts";
import { openFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import { findPort } from "../free-port.ts";
import type { PostgresServer } from "../postgres-server.ts";
import { mostHere } from "./sizes.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./test-service.ts";

/** Several nodes on one database, each with folders of its own, that can be killed one by one. */

/** As short as it may be, because tests wait for its end, where a node may be held up for 3 s. */
const LEASE_SEC = 6;
export const LEASE_MS = LEASE_SEC * 1000;

/** From the loss of a node until another one has ended what it ran, in milliseconds. */
export const SWEPT_MS = (LEASE_MS * 4) / 3 + 1000;

/** The same where that other one may have been held up: it ends nothing for two leases then. */
export const mostUntilSwept = () => mostHere(SWEPT_MS, 2 * LEASE_MS + 5000);

/**
 * Notes its start in a file that all nodes share, then waits for `ms`, or for the answer of `gate`. It
 * notes a second time that it is still there.
 */
const RECORDING = `
  import { appendFileSync } from "node:fs";
  import { defineFlow } from "flowhook";
  export default defineFlow({
    permissions: { write: ["<out>"], net: true },
    async run({ execution, input_value }) {
      const { ms = 0, gate, alive } = input_value.query;
      appendFileSync("<out>/started", execution.id + "\\n");
      const tick = () => appendFileSync("<out>/alive", execution.id + "\\n");
      if (alive !== undefined) setInterval(tick, 100);
      if (gate !== undefined) await fetch(gate).then((answer) => answer.text());
      await new Promise((resolve) => setTimeout(resolve, Number(ms)));
      return { id: execution.id };
    },
  });
`;

export interface ClusterNode {
  readonly service: TestService;
  /** Between it and PostgreSQL. */
  readonly proxy: FaultProxy;
  /** What its executions are marked with. */
  readonly name: string;
}

export interface StoredRow {
  readonly id: string;
  readonly status: string;
  readonly status_message: string | null;
  /** Where it ran, or was to run last. */
  readonly node: string | null;
}

export interface Cluster extends AsyncDisposable {
  /** Of the database, past every proxy. */
  readonly url: string;
  /** Those that are to be called: a test takes out what it killed, and puts in what it added. */
  readonly nodes: ClusterNode[];
  /** Starts one more, with a folder of its own. */
  add(program?: Program): Promise<ClusterNode>;
  /** Ids of flows, one for each time that one began. */
  started(): Promise<string[]>;
  /** Ids of flows that ran with `alive`, one for each tick. */
  ticks(): Promise<string[]>;
  rows(): Promise<Map<string, StoredRow>>;
  /** Resolves with all rows once each has ended. */
  settled(): Promise<Map<string, StoredRow>>;
}

/** What a node is run with, where that is not as it is for all. */
type Program = Pick<TestServiceOptions, "env" | "target">;

export interface ClusterOptions {
  readonly nodes: number;
  readonly config?: Readonly<Record<string, unknown>>;
  /** Whether each node leads a group of processes of its own. */
  readonly leads_group?: boolean;
  /** Whether each listens at its own port again after a restart. */
  readonly keepsPorts?: boolean;
}

export async function openCluster(
  server: PostgresServer,
  options: ClusterOptions,
): Promise<Cluster> {
  await using opening = new AsyncDisposableStack();
  let opened = opening;
  const url = await server.createDatabase();
  const out = await mkdtemp(join(tmpdir(), "flowhook-faults-out-"));
  opened.defer(() => rm(out, { recursive: true, force: true, maxRetries: 5 }));
  const nodes: ClusterNode[] = [];
  const key = randomBytes(32).toString("hex");
  let added = 0;

  async function add(program: Program = {}): Promise<ClusterNode> {
    const name = `node-${(added += 1)}`;
    const proxy = await openFaultProxy(url);
    opened.defer(() => proxy.close());
    const service = opened.use(
      await openTestService({
        ...program,
        config: {
          DATABASE_URL: proxy.through(url),
          DATA_KEY: key,
          NODE_LEASE_SEC: LEASE_SEC,
          NODE_NAME: name,
          LISTEN_PORT: options.keepsPorts === true ? await findPort() : 0,
          WORKER_THREADS: 4,
          FLOW_MAX_CONCURRENT: 4,
          ALLOW_WRITE: [out],
          ...options.config,
        },
        files: { "recording.ts": RECORDING.replaceAll("<out>", out) },
        leads_group: options.leads_group ?? false,
      }),
    );
    const node = { service, proxy, name };
    nodes.push(node);
    return node;
  }

  // Each may be the one that fills the database.
  const [first] = await Promise.all(Array.from({ length: options.nodes }, () => add()));
  if (first !== undefined) await createWebhooks(first.service);
  opened = opening.move();
  return {
    url,
    nodes,
    add,
    started: () => readLines(join(out, "started")),
    ticks: () => readLines(join(out, "alive")),
    rows: () => readRows(url),
    settled: () => settled(url),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function createWebhooks(service: TestService): Promise<void> {
  await service.createWebhook("recording", "recording", { is_productive: true });
  const held = { is_productive: true, sync_mode: "hold" };
  await service.createWebhook("held", "recording", held);
  await service.createWebhook("once", "recording", {
    is_productive: true,
    idempotency: { from: "header:idempotency-key", after_failure: "same" },
  });
}

async function readLines(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").filter(Boolean);
}

async function readRows(url: string): Promise<Map<string, StoredRow>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<StoredRow>(
      "select id, status, status_message, node from execution",
    );
    return new Map(rows.map((row) => [row.id, row]));
  } finally {
    await client.end();
  }
}

function settled(url: string): Promise<Map<string, StoredRow>> {
  return poll("every execution to end", async () => {
    const rows = await readRows(url);
    return [...rows.values()].every(({ status }) => status.startsWith("ENDED_")) ? rows : null;
  });
}
