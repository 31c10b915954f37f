import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "pg";
import type { LedgerEntry } from "../ledger-record.ts";
import { toCounting, type Counting } from "./begins.ts";
import { Session, setDurability } from "./connection.ts";
import { isLost, isOutOfTime, toUnitError } from "./error.ts";
import { LaneWrites } from "./lane-writes.ts";
import type { Membership } from "./membership.ts";
import { PATIENCE_MS } from "./patience.ts";
import { Predecessor } from "./predecessor.ts";
import { isLines, writeRecords, type Recorder } from "./records.ts";
import type { Lane, Recorded, ThreadData, Written } from "./thread-protocol.ts";
import { UnknownBegins } from "./unknown-begins.ts";

const RETRY_MS = 250;
/** With less left nothing is tried again that the server has given up: it takes as long once more. */
const WORTH_MS = 2000;

/**
 * A statement is planned once, for tables as they are then. Where they are small just then, every
 * row would be read for each batch, also when there are millions; and where batches are small, the
 * server would plan each anew.
 */
const PLANS = "set enable_seqscan = off; set plan_cache_mode = force_generic_plan";

/** The connections on which records are written, each batch after the one before. */
export class Lanes {
  readonly #lanes: Readonly<Record<Lane, Session>>;
  readonly #writes: Readonly<Record<Lane, LaneWrites>>;
  readonly #unknown = new UnknownBegins();
  readonly #membership: Membership;
  readonly #counting: Counting;
  #settling: Promise<void> | null = null;
  #isClosed = false;
  #isHurried = false;

  constructor(data: ThreadData, membership: Membership) {
    this.#membership = membership;
    this.#counting = toCounting(data.allowance);
    const open = (): Session => {
      const predecessor = new Predecessor();
      const prepare = async (client: Client): Promise<void> => {
        await client.query(PLANS);
        await setDurability(client, data.durability);
        await predecessor.endFor(client);
      };
      return new Session(data, prepare, true);
    };
    this.#lanes = { begin: open(), end: open(), log: open() };
    const toWrites = (lane: Lane) => new LaneWrites((entries) => this.#write(lane, entries));
    this.#writes = { begin: toWrites("begin"), end: toWrites("end"), log: toWrites("log") };
  }

  write(lane: Lane, entries: readonly LedgerEntry[]): Promise<Written> {
    return this.#writes[lane].add(entries);
  }

  /** The service stops: nothing is tried for longer than a moment any more. */
  hurry(): void {
    this.#isHurried = true;
  }

  async #write(lane: Lane, entries: readonly LedgerEntry[]): Promise<Recorded> {
    const unanswered = new Set<string>();
    const until = performance.now() + PATIENCE_MS;
    for (; ; await wait(RETRY_MS))
      try {
        return await this.#lanes[lane].run((client) => this.#record(client, entries, unanswered));
      } catch (error) {
        if (this.#triesAgain(lane, error, until - performance.now())) continue;
        this.#unknown.add(entries, unanswered);
        if (this.#unknown.size > 0) this.#settleSoon();
        const errors = entries.map((_, at) => [at, toUnitError(error)] as const);
        return { errors, overtaken: [], heldBack: [] };
      }
  }

  /** Of begins and endings somebody is told in time; lines are tried for as long as the service runs. */
  #triesAgain(lane: Lane, error: unknown, leftMs: number): boolean {
    if (lane === "log" && !this.#isHurried) return toUnitError(error).kind === "unavailable";
    return leftMs > (isOutOfTime(error) ? WORTH_MS : 0) && isPassing(error);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#settling;
    await Promise.all(Object.values(this.#lanes).map((lane) => lane.close()));
  }

  /** @param unanswered is given the node, where it is not known what was written */
  async #record(
    client: Client,
    entries: readonly LedgerEntry[],
    unanswered: Set<string>,
  ): Promise<Recorded> {
    const recorder: Recorder = {
      node: this.#membership.id,
      counting: this.#counting,
      isAgain: unanswered.size > 0,
    };
    try {
      return await writeRecords(client, recorder, entries);
    } catch (error) {
      // Of lines that are written apart some may be there already.
      if (isLost(error) || isLines(entries)) unanswered.add(recorder.node);
      throw error;
    }
  }

  /** As soon as the database is there again, on a connection that was made since. */
  #settleSoon(): void {
    this.#settling ??= this.#settle().finally(() => (this.#settling = null));
  }

  async #settle(): Promise<void> {
    while (this.#unknown.size > 0 && !this.#isClosed)
      try {
        // No caller waits for this lane while the database is away.
        await this.#lanes.log.run((client) => client.query("select 1"));
        await this.#lanes.begin.run((client) => this.#unknown.settle(client));
      } catch {
        await wait(RETRY_MS);
      }
  }
}

function isPassing(error: unknown): boolean {
  return isLost(error) || isOutOfTime(error);
}
