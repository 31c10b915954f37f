/** What waits in turn with that of others. */
export interface Queued {
  /** Whose it is. */
  readonly client: string;
  /** In bytes. */
  readonly size: number;
}

/** How much waits, in number and in bytes; one alone may be of any size. */
export interface QueueLimits {
  readonly mostJobs: number;
  readonly mostBytes: number;
}

/** From which part of a limit on one client has no more than its share. */
const SHARED_FROM = 1 / 2;
const SHARE = 1 / 4;

/** A queue for each client: each in its order, the clients in turn. */
export class FairQueue<T extends Queued> {
  /** The client whose turn is next comes first. */
  readonly #clients = new Map<string, { jobs: T[]; bytes: number }>();
  #jobs = 0;
  #bytes = 0;
  #last: string | null = null;

  /** Once half of a limit is taken, one client has no more than a quarter. */
  hasRoom({ client, size }: Queued, { mostJobs, mostBytes }: QueueLimits): boolean {
    if (this.#jobs === 0) return mostJobs > 0;
    const jobs = this.#jobs + 1;
    const bytes = this.#bytes + size;
    if (jobs > mostJobs || bytes > mostBytes) return false;
    const own = this.#clients.get(client);
    if (own === undefined) return true;
    if (jobs > mostJobs * SHARED_FROM && own.jobs.length + 1 > mostJobs * SHARE) return false;
    return bytes <= mostBytes * SHARED_FROM || own.bytes + size <= mostBytes * SHARE;
  }

  add(job: T): void {
    const own = this.#clients.get(job.client) ?? { jobs: [], bytes: 0 };
    this.#clients.set(job.client, own);
    own.jobs.push(job);
    own.bytes += job.size;
    this.#jobs += 1;
    this.#bytes += job.size;
  }

  take(): T | undefined {
    this.#passTurn();
    for (const [client, own] of this.#clients) {
      const job = own.jobs.shift() as T;
      own.bytes -= job.size;
      this.#jobs -= 1;
      this.#bytes -= job.size;
      if (own.jobs.length === 0) this.#clients.delete(client);
      this.#last = client;
      return job;
    }
    return undefined;
  }

  /** The client that was served last comes behind those that came meanwhile, too. */
  #passTurn(): void {
    const own = this.#last === null ? undefined : this.#clients.get(this.#last);
    if (this.#last === null || own === undefined) return;
    this.#clients.delete(this.#last);
    this.#clients.set(this.#last, own);
  }
}
