import type { StoredRefusal } from "../shared-store.ts";
import type { Row } from "../statement.ts";
import type { NamedQuery } from "./thread-protocol.ts";

/** How often what was refused is written, in milliseconds. */
const WRITE_MS = 250;
/** Of what is refused meanwhile: the newest of each webhook, and what of all comes first. */
const [MOST_OF_WEBHOOK, MOST] = [25, 400];

/** Those that are kept, but for what is being written: the newest of each webhook, and of all. */
const [KEPT_OF_WEBHOOK, KEPT] = [100, 10_000];

/** Nobody waits for another service that deletes the same. */
const WRITE = `with given as materialized (
    select * from unnest($1::text[], $2::bigint[], $3::text[]) as given (webhook_id, at, call)),
  surplus as materialized (select seq from refused_call where seq in (
      select seq from (select seq, row_number() over (partition by webhook_id order by seq desc) as place
          from refused_call where webhook_id = any($1::text[])) as own
        where place > ${KEPT_OF_WEBHOOK})
      or seq <= (select seq from refused_call order by seq desc offset ${KEPT} limit 1)
    for update skip locked),
  gone as (delete from refused_call using surplus where refused_call.seq = surplus.seq)
  insert into refused_call (webhook_id, at, call) select webhook_id, at, call from given`;

const LIST = `select call from refused_call where webhook_id = $1
  order by at desc, seq desc limit $2`;

/** Refused calls of all services on one database. Many of one webhook are thinned before they are written. */
export class RefusedCalls implements AsyncDisposable {
  readonly #query: (query: NamedQuery) => Promise<Row[]>;
  /** By their webhooks, the oldest first. */
  readonly #gathered = new Map<string, StoredRefusal[]>();
  #count = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(query: (query: NamedQuery) => Promise<Row[]>) {
    this.#query = query;
  }

  add(refused: StoredRefusal): void {
    const own = this.#gathered.get(refused.webhook_id) ?? [];
    if (own.length === MOST_OF_WEBHOOK) own.shift();
    else if (this.#count === MOST) return;
    else this.#count += 1;
    own.push(refused);
    this.#gathered.set(refused.webhook_id, own);
    if (this.#timer === null) this.#writeSoon(0);
  }

  async list(webhook_id: string, limit: number): Promise<string[]> {
    await this.#write().catch(() => {});
    const query = { name: "refused-calls", sql: LIST, parameters: [webhook_id, limit] };
    return (await this.#query(query)).map((row) => String(row["call"]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#write().catch(() => {});
  }

  /** At once, and then what came within 250 ms after that: one write at a time. */
  #writeSoon(ms: number): void {
    this.#timer = setTimeout(() => {
      const next = (): void => this.#writeSoon(WRITE_MS);
      // What cannot be written is lost: a list of what is the latest is worth no more.
      if (this.#count > 0) this.#write().then(next, next);
      else this.#timer = null;
    }, ms).unref();
  }

  async #write(): Promise<void> {
    const some = [...this.#gathered.values()].flat();
    this.#gathered.clear();
    this.#count = 0;
    if (some.length > 0)
      this.#writing = this.#writing.catch(() => {}).then(() => this.#insert(some));
    await this.#writing;
  }

  async #insert(some: readonly StoredRefusal[]): Promise<void> {
    const column = (name: keyof StoredRefusal): unknown[] => some.map((one) => one[name]);
    const parameters = [column("webhook_id"), column("at"), column("call")];
    await this.#query({ name: "write-refused", sql: WRITE, parameters });
  }
}
