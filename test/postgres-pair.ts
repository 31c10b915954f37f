import { chownSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { poll } from "./blackbox/scenario.ts";
import { openFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { findPort } from "./free-port.ts";
import {
  initialize,
  openPlace,
  PASSWORD,
  removePlace,
  toOwn,
  toServer,
  urlAt,
  type OwnServer,
  type Place,
  type PostgresServer,
} from "./postgres-server.ts";

/** A primary and its streaming standby, behind one address that leads to the primary. */
export interface PostgresPair extends PostgresServer {
  /** Kills the primary and leads to the standby, which is promoted once `meanwhile` is done. */
  failOver(meanwhile: () => Promise<unknown>): Promise<void>;
  /** Ends the primary at once, and starts it after so long, in milliseconds. */
  restart(awayMs: number): Promise<void>;
  /** Copies the primary while it runs; resolves once each commit waits for the copy. */
  addStandby(): Promise<void>;
  /** Between the two: while it is held, no commit is done. */
  readonly stream: FaultProxy;
}

interface Member {
  readonly url: string;
  readonly data: string;
  readonly own: OwnServer;
}

/** The primary keeps what a standby may have missed while it was made. */
const SETTINGS = ["wal_keep_size=256MB", "wal_retrieve_retry_interval=200ms"];

export async function openPostgresPair(): Promise<PostgresPair> {
  const place = openPlace();
  let primary = await toMember(place, 1);
  let standby: Member | null = null;
  initialize(place, primary.data);
  await primary.own.start();
  const front = await openFaultProxy(primary.url);
  const stream = await openFaultProxy(primary.url);
  let made = 1;

  async function addStandby(): Promise<void> {
    standby = await toMember(place, (made += 1));
    stream.turn(primary.url);
    stream.open();
    await copyData(primary.url, primary.data, standby.data, place);
    writeFileSync(join(standby.data, "postgresql.auto.conf"), follow(stream.through(primary.url)));
    writeFileSync(join(standby.data, "standby.signal"), "");
    await standby.own.start();
    await query(primary.url, "alter system set synchronous_standby_names = '*'");
    await query(primary.url, "select pg_reload_conf()");
    await untilKept(primary);
  }

  await addStandby();
  const server = toServer(front.through(primary.url), null, async () => {
    await Promise.all([front.close(), stream.close()]);
    for (const member of [standby, primary]) await member?.own.kill();
    removePlace(place);
  });
  return {
    ...server,
    addStandby,
    stream,
    async restart(awayMs) {
      await primary.own.kill();
      await wait(awayMs);
      await primary.own.start();
      await untilKept(primary);
    },
    async failOver(meanwhile) {
      if (standby === null) throw new Error("There is no standby");
      await primary.own.kill();
      front.turn(standby.url);
      await meanwhile();
      await query(standby.url, "select pg_promote()");
      primary = standby;
      standby = null;
    },
  };
}

/** Until each commit waits for the standby. */
function untilKept({ url }: Member): Promise<true> {
  return poll("the standby to keep up", async () => {
    const rows = await query(url, "select sync_state from pg_stat_replication");
    return rows[0]?.["sync_state"] === "sync" ? true : null;
  });
}

async function toMember(place: Place, number: number): Promise<Member> {
  const port = await findPort();
  const data = join(place.folder, `data-${number}`);
  return { url: urlAt(port), data, own: toOwn(place, data, port, SETTINGS) };
}

/** The whole file: what the primary had in it was about its own standby. */
function follow(url: string): string {
  const { hostname, port } = new URL(url);
  const conninfo = `host=${hostname} port=${port} user=flowhook password='${PASSWORD}'`;
  return `primary_conninfo = '${conninfo.replaceAll("'", "''")}'\n`;
}

/** As pg_basebackup does, which is not in the package: the log comes by the stream. */
async function copyData(url: string, from: string, to: string, { user }: Place): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query("select pg_backup_start('standby', true)");
    copyFolder(from, to);
    const { rows } = await client.query<{ labelfile: string }>(
      "select labelfile from pg_backup_stop(false)",
    );
    writeFileSync(join(to, "backup_label"), rows[0]?.labelfile ?? "");
  } finally {
    await client.end();
  }
  if (user.uid !== undefined) own(to, user.uid);
}

/** Of the primary alone. */
const LEFT_OUT = ["postmaster.pid", "postmaster.opts"];

function copyFolder(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (LEFT_OUT.includes(entry.name)) continue;
    if (entry.isDirectory()) copyFolder(source, target);
    else if (!from.includes("/pg_wal")) copyFile(source, target);
  }
}

/** What is gone meanwhile is not needed. */
function copyFile(source: string, target: string): void {
  try {
    copyFileSync(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

function own(path: string, uid: number): void {
  chownSync(path, uid, uid);
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true }))
    chownSync(join(entry.parentPath, entry.name), uid, uid);
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
