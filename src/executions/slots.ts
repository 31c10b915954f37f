/**
 * Where an execution runs next: in a thread, or behind the running ones of its flow, which is
 * handed to the runner so that a thread that becomes free need not wait for a message.
 */
export type Seat = "thread" | "ahead";

/** Those of one flow that were granted a seat. */
interface Held {
  threads: number;
  ahead: number;
}

const NONE: Readonly<Held> = { threads: 0, ahead: 0 };

/**
 * Who may run: at most `total` executions at the same time and at most `per_flow` of one flow.
 * The last free slot is kept for a flow that has none (contract, section 7, number 1). Waiting
 * flows take turns, so that one cannot starve the others; within a flow, first come first served.
 * Only a flow that has all its threads, while no other waits, is given more.
 */
export class Slots {
  readonly #total: number;
  readonly #per_flow: number;
  readonly #most_ahead: (flow: string) => number;
  readonly #held = new Map<string, Held>();
  /** The lines of the waiting flows, in the order of their turns. */
  readonly #lines = new Map<string, Map<string, (seat: Seat) => void>>();
  /** How many of each flow are being recorded, and will wait then. */
  readonly #coming = new Map<string, number>();
  #is_stopped = false;
  #taken = 0;
  #ahead = 0;
  #waiting = 0;
  #coming_in_all = 0;

  constructor(options: {
    total: number;
    per_flow: number;
    /** How many of a flow may be ahead just now. */
    ahead: (flow: string) => number;
  }) {
    this.#total = options.total;
    this.#per_flow = Math.min(options.per_flow, Math.max(1, options.total - 1));
    this.#most_ahead = options.ahead;
  }

  /** In threads. */
  get running(): number {
    return this.#taken;
  }

  /** Granted a seat, and not at its end. */
  get granted(): number {
    return this.#taken + this.#ahead;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Those that wait, and those that will once they are recorded. */
  get queued(): number {
    return this.#waiting + this.#coming_in_all;
  }

  /** As `queued`, of one flow. */
  queuedOf(flow: string): number {
    return this.length(flow) + (this.#coming.get(flow) ?? 0);
  }

  /** One of this flow will wait, once it is recorded: its place in the queue is taken. */
  announce(flow: string): void {
    this.#coming.set(flow, (this.#coming.get(flow) ?? 0) + 1);
    this.#coming_in_all += 1;
  }

  /** One that was announced waits from now on, or never will. */
  arrive(flow: string): void {
    const left = (this.#coming.get(flow) ?? 0) - 1;
    if (left > 0) this.#coming.set(flow, left);
    else this.#coming.delete(flow);
    this.#coming_in_all -= 1;
  }

  /** Whether one of this flow that comes now need not wait. */
  isFree(flow: string): boolean {
    return !this.#lines.has(flow) && this.#seatFor(flow) !== null;
  }

  /** Takes a seat if one is free and nobody of this flow waits for it. */
  tryTake(flow: string): Seat | null {
    if (this.#lines.has(flow)) return null;
    const seat = this.#seatFor(flow);
    if (seat !== null) this.#take(flow, seat);
    return seat;
  }

  /** `granted` is called once, when it has its turn; the seat is taken then. */
  wait(flow: string, id: string, granted: (seat: Seat) => void): void {
    const line = this.#lines.get(flow) ?? new Map<string, (seat: Seat) => void>();
    this.#lines.set(flow, line.set(id, granted));
    this.#waiting += 1;
    while (this.#grantNext());
  }

  /** Gives up waiting; false where the seat had been granted. */
  withdraw(flow: string, id: string): boolean {
    const line = this.#lines.get(flow);
    if (line === undefined || !line.delete(id)) return false;
    this.#waiting -= 1;
    if (line.size === 0) this.#lines.delete(flow);
    return true;
  }

  /**
   * One of a flow has left its seat: it has ended, or comes back without having run. Where others
   * are ahead, one of them has its thread now, or is where it was.
   */
  release(flow: string): void {
    const held = this.#held.get(flow);
    if (held !== undefined && held.ahead > 0) {
      held.ahead -= 1;
      this.#ahead -= 1;
    } else if (held !== undefined) {
      held.threads -= 1;
      this.#taken -= 1;
      if (held.threads === 0) this.#held.delete(flow);
    }
    while (this.#grantNext());
  }

  /** How many of a flow wait. */
  length(flow: string): number {
    return this.#lines.get(flow)?.size ?? 0;
  }

  /** How many of a flow have a seat. */
  held(flow: string): number {
    const { threads, ahead } = this.#held.get(flow) ?? NONE;
    return threads + ahead;
  }

  /** From now on nobody is granted a seat: the waiting go on waiting. */
  stop(): void {
    this.#is_stopped = true;
  }

  #seatFor(flow: string): Seat | null {
    const { threads, ahead } = this.#held.get(flow) ?? NONE;
    const open = threads === 0 ? this.#total : this.#total - 1;
    if (threads < this.#per_flow) return this.#taken < open ? "thread" : null;
    // A flow that waits has its turn as soon as a thread is free.
    const is_alone = this.#lines.size === 0 || (this.#lines.size === 1 && this.#lines.has(flow));
    return is_alone && ahead < this.#most_ahead(flow) ? "ahead" : null;
  }

  #take(flow: string, seat: Seat): void {
    let held = this.#held.get(flow);
    if (held === undefined) this.#held.set(flow, (held = { threads: 0, ahead: 0 }));
    if (seat === "ahead") {
      held.ahead += 1;
      this.#ahead += 1;
    } else {
      held.threads += 1;
      this.#taken += 1;
    }
  }

  #grantNext(): boolean {
    if (this.#is_stopped) return false;
    for (const [flow, line] of this.#lines) {
      const seat = this.#seatFor(flow);
      if (seat === null) continue;
      const [id, granted] = line.entries().next().value as [string, (seat: Seat) => void];
      this.withdraw(flow, id);
      // Its next turn comes after everybody else's.
      if (this.#lines.delete(flow)) this.#lines.set(flow, line);
      this.#take(flow, seat);
      granted(seat);
      return true;
    }
    return false;
  }
}
