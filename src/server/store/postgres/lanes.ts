import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "pg";
import type { LedgerEntry } from "../ledger-record.ts";
import { now } from "../../../shared/clock.ts";
import { toEndBatch } from "./batches.ts";
import { toCounting, type Counting } from "./begins.ts";
import { ANSWER_MS, Session } from "./connection.ts";
import { isLost, toUnitError } from "./error.ts";
import type { Membership } from "./membership.ts";
import { writeRecords, type Recorder } from "./records.ts";
import type { Lane, Recorded, ThreadData } from "./thread-protocol.ts";

/** How long a batch is tried again where the connection was lost, in milliseconds. */
const PATIENCE_MS = 5000;
const RETRY_MS = 250;

/**
 * A statement is planned once, for tables as they are then. Where they are small just then, every
 * row would be read for each batch, also when there are millions.
 */
const BY_INDEX = "set enable_seqscan = off";

/** The connections on which records are written, each batch after the one before. */
export class Lanes {
  readonly #lanes: Readonly<Record<Lane, Session>>;
  /** Executions that may have been recorded though whoever started them was told otherwise. */
  readonly #doubtful = new Set<string>();
  readonly #membership: Membership;
  readonly #counting: Counting;

  constructor(data: ThreadData, membership: Membership) {
    this.#membership = membership;
    this.#counting = toCounting(data.allowance);
    const prepare = async (client: Client): Promise<void> => {
      await client.query(BY_INDEX);
      if (data.durability === "normal") await client.query("set synchronous_commit = off");
      await this.#settleDoubtful(client);
    };
    const open = (): Session => new Session(data, prepare, ANSWER_MS);
    this.#lanes = { begin: open(), end: open(), log: open() };
  }

  /** Tries for 5 seconds. */
  async write(lane: Lane, entries: readonly LedgerEntry[]): Promise<Recorded> {
    let isDoubtful = false;
    for (const until = performance.now() + PATIENCE_MS; ; await wait(RETRY_MS))
      try {
        return await this.#lanes[lane].run((client) =>
          writeRecords(client, this.#recorder, entries).catch((error: unknown) => {
            isDoubtful = true;
            throw error;
          }),
        );
      } catch (error) {
        if (isLost(error) && performance.now() < until) continue;
        if (isDoubtful) this.#doubt(entries);
        const errors = entries.map((_, at) => [at, toUnitError(error)] as const);
        return { errors, overtaken: [] };
      }
  }

  get #recorder(): Recorder {
    return { node: this.#membership.id, counting: this.#counting };
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#lanes).map((lane) => lane.close()));
  }

  #doubt(entries: readonly LedgerEntry[]): void {
    for (const { record } of entries)
      if (record.kind === "begin") this.#doubtful.add(record.row.id);
  }

  /** They were refused: where they were recorded all the same, they end without having begun. */
  async #settleDoubtful(client: Client): Promise<void> {
    const ids = [...this.#doubtful];
    if (ids.length === 0) return;
    const ended = { status: "ENDED_ERROR", ended_at: now(), output_value: null } as const;
    const status_message = "not started: the database was away when it was recorded";
    const rows = ids.map((id) => ({ id, ...ended, status_message, response: null }));
    const { text, values } = toEndBatch(rows, this.#membership.id);
    await client.query(text, [...values]);
    for (const id of ids) this.#doubtful.delete(id);
  }
}
