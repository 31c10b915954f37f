import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { poll } from "../blackbox/scenario.ts";
import { openFaultProxy, type FaultProxy } from "../fault-proxy.ts";
import type { PostgresServer } from "../postgres-server.ts";
import { openTestService, type TestService, type TestServiceOptions } from "./test-service.ts";

/** Several nodes on one database, each with folders of its own, that can be killed one by one. */

/** The least that it may be: tests wait for its end. */
const LEASE_SEC = 3;
export const LEASE_MS = LEASE_SEC * 1000;

/** From the loss of a node until another one has ended what it ran, in milliseconds. */
export const SWEPT_MS = (LEASE_MS * 4) / 3 + 1000;

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
}

export interface StoredRow {
  readonly id: string;
  readonly status: string;
  readonly status_message: string | null;
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

  async function add(program: Program = {}): Promise<ClusterNode> {
    const proxy = await openFaultProxy(url);
    opened.defer(() => proxy.close());
    const service = opened.use(
      await openTestService({
        ...program,
        config: {
          DATABASE_URL: proxy.through(url),
          DATA_KEY: key,
          NODE_LEASE_SEC: LEASE_SEC,
          WORKER_THREADS: 4,
          FLOW_MAX_CONCURRENT: 4,
          ALLOW_WRITE: [out],
          ...options.config,
        },
        files: { "recording.ts": RECORDING.replaceAll("<out>", out) },
        leads_group: options.leads_group ?? false,
      }),
    );
    const node = { service, proxy };
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
      "select id, status, status_message from execution",
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
