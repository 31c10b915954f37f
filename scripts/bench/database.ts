import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { PostgresServer } from "../../test/postgres-server.ts";
import type { Figures } from "./alone.ts";
import { readCpu, toCpuPerCall } from "./cpu.ts";
import { load, toBody } from "./load.ts";
import { callOf, HELD, startService, toProcesses, using } from "./server.ts";

/** What a call costs the database, which runs on this machine. */

/** Many calls share a commit, or each has its own. */
const [TOGETHER, USUAL, ALONE] = [128, 32, 1];
/** A body so large, and an answer that is next to nothing. */
const [INPUT_KB, FLOW, ANSWER] = [0.9, "small", '{"ok":true}'];
const WARM_SECONDS = 3;
/** A connection tells what it has done once it is idle for so long, in milliseconds. */
const TOLD_MS = 1500;

export async function measureDatabase(postgres: PostgresServer, seconds: number): Promise<Figures> {
  const DATABASE_URL = await postgres.createDatabase();
  const DATA_KEY = randomBytes(32).toString("hex");
  const config = { ...HELD, DATABASE_URL, DATA_KEY };
  const write = (folder: string): void =>
    writeFileSync(
      join(folder, `plugins/${FLOW}.ts`),
      `export default async function () { return ${ANSWER}; }`,
    );
  return using(await startService(config, write, [FLOW]), async ({ url }) => {
    await using database = await connect(DATABASE_URL);
    const measure = async (connections: number): Promise<Cost> => {
      const order = {
        url: callOf(url, FLOW),
        connections,
        body: toBody(INPUT_KB),
        expected: ANSWER,
      };
      await load({ ...order, seconds: WARM_SECONDS });
      return measureCost(postgres, database.client, () => load({ ...order, seconds }));
    };
    const usual = await measure(USUAL);
    const together = await measure(TOGETHER);
    const alone = await measure(ALONE);
    return {
      "commits per call": usual.commits,
      "WAL per call, KB": usual.walKb,
      "CPU per call, us": usual.cpuUs,
      "CPU per call together, us": together.cpuUs,
      "CPU per call alone, us": alone.cpuUs,
      "CPU per call, together / alone": together.cpuUs / alone.cpuUs,
    };
  });
}

async function connect(connectionString: string) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

/** Of one call. */
interface Cost {
  readonly commits: number;
  readonly walKb: number;
  /** Of all processes of the server. */
  readonly cpuUs: number;
}

async function measureCost(
  postgres: PostgresServer,
  client: pg.Client,
  act: () => Promise<{ calls: number }>,
): Promise<Cost> {
  const before = await read(postgres, client);
  const { calls } = await act();
  const after = await read(postgres, client);
  const cpu = Object.values(toCpuPerCall(before.cpu, after.cpu, calls));
  return {
    commits: (after.commits - before.commits) / calls,
    walKb: (after.wal - before.wal) / calls / 1024,
    cpuUs: cpu.length === 0 ? Number.NaN : cpu.reduce((sum, us) => sum + us, 0),
  };
}

async function read(postgres: PostgresServer, client: pg.Client) {
  await new Promise((resolve) => setTimeout(resolve, TOLD_MS));
  const { rows } = await client.query<{ commits: number; wal: number }>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal,
      (select xact_commit from pg_stat_database where datname = current_database()) as commits`,
  );
  const { commits, wal } = rows[0] ?? {};
  return { cpu: readCpu(processesOf(postgres)), commits: Number(commits), wal: Number(wal) };
}

/** None where it is not this process' own: it may be on another machine. */
export function processesOf({ own }: PostgresServer): Map<number, string> {
  const pid = own?.pid();
  return pid === undefined ? new Map() : toProcesses(pid, "postgres", "postgres");
}
