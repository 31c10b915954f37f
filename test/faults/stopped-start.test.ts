import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { environment } from "../blackbox/target.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { openPostgres, type PostgresServer } from "../postgres-server.ts";
import { figure, mostHere } from "./sizes.ts";
import { faultsTarget } from "./test-service.ts";

/** A service is told to stop while its start waits for others. */

let server: PostgresServer;

interface Hindrance {
  /** A URL of the database, where a start waits. */
  readonly url: string;
  /** What the start prints once it waits. */
  readonly told: RegExp;
}

type Hinder = (url: string, stack: AsyncDisposableStack) => Promise<Hindrance>;

async function hold(lock: string, url: string, stack: AsyncDisposableStack): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  stack.defer(() => client.end());
  await client.query(`begin; select ${lock}`);
}

async function openProxy(url: string, stack: AsyncDisposableStack) {
  const proxy = await openFaultProxy(url);
  stack.defer(() => proxy.close());
  return proxy;
}

const HINDRANCES: Readonly<Record<string, Hinder>> = {
  async "a database that accepts connections and says nothing"(url, stack) {
    const proxy = await openProxy(url, stack);
    proxy.hold();
    return { url: proxy.through(url), told: /Cannot reach the database .+ yet/ };
  },
  async "a database that is away"(url, stack) {
    const proxy = await openProxy(url, stack);
    proxy.drop();
    return { url: proxy.through(url), told: /Cannot reach the database .+ yet/ };
  },
  async "a service that changes the tables"(url, stack) {
    await hold("pg_advisory_xact_lock(7381204592834211435)", url, stack);
    return { url, told: /Another service starts on the database/ };
  },
  async "the first start of another service"(url, stack) {
    await hold("pg_advisory_xact_lock(x'666c6f77'::integer, 1)", url, stack);
    return { url, told: /Another service starts for the first time/ };
  },
};

describe("a start that waits is stopped", () => {
  before(async () => {
    server = await openPostgres();
  });
  after(() => server.stop());

  for (const [what, hinder] of Object.entries(HINDRANCES))
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      test(`${signal} while it waits for ${what}`, async () => {
        await using stack = new AsyncDisposableStack();
        const database = await server.createDatabase();
        const { url, told } = await hinder(database, stack);
        const start = await openStart(url, stack);
        await poll("the start to wait", async () => told.test(start.printed()) || null);
        const begun = performance.now();
        const code = await start.end(signal);
        const took = performance.now() - begun;
        figure(`stopped start: ${signal} while it waits for ${what}`, took, "ms");
        assert.equal(code, 0, start.printed());
        assert.match(start.printed(), /"Stopped"/);
        assert.ok(took < mostHere(2000), `${took} ms`);
        assert.deepEqual(await nodesOf(database), []);
      });
});

async function openStart(url: string, stack: AsyncDisposableStack) {
  const cwd = await mkdtemp(join(tmpdir(), "flowhook-start-"));
  stack.defer(() => rm(cwd, { recursive: true, force: true, maxRetries: 5 }));
  const [program, ...leading] = faultsTarget().command;
  const env = environment({
    FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD,
    FLOWHOOK_DATABASE_URL: url,
    FLOWHOOK_LISTEN_PORT: "0",
    FLOWHOOK_LOG_FORMAT: "json",
  });
  const child = spawn(program, [...leading, "serve"], { cwd, env });
  stack.defer(() => void child.kill("SIGKILL"));
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part: string) => (text += part));
  const closed = once(child, "close");
  return {
    printed: () => text,
    /** Resolves with the exit code. */
    async end(signal: NodeJS.Signals): Promise<number | null> {
      child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}

/** Names of those who would be given up once their lease ends. */
async function nodesOf(url: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>("select name from node");
    return rows.map(({ name }) => name);
  } catch (error) {
    // The tables are not there yet.
    if ((error as { code?: unknown }).code === "42P01") return [];
    throw error;
  } finally {
    await client.end();
  }
}
