/**
 * Who may run: at most `total` executions at the same time and at most `per_flow` of one flow.
 * Waiting flows take turns, so that one cannot starve the others; within a flow, first come
 * first served.
 */
export class Slots {
  readonly #total: number;
  readonly #per_flow: number;
  readonly #running = new Map<string, number>();
  /** The lines of the waiting flows, in the order of their turns. */
  readonly #lines = new Map<string, Map<string, () => void>>();
  #is_stopped = false;
  #taken = 0;
  #waiting = 0;

  constructor({ total, per_flow }: { total: number; per_flow: number }) {
    this.#total = total;
    this.#per_flow = per_flow;
  }

  get running(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Takes a slot if one is free and nobody of this flow waits for it. */
  tryTake(flow: string): boolean {
    if (this.#lines.has(flow) || !this.#isFree(flow)) return false;
    this.#take(flow);
    return true;
  }

  /** `granted` is called once, when it has its turn; the slot is taken then. */
  wait(flow: string, id: string, granted: () => void): void {
    const line = this.#lines.get(flow) ?? new Map<string, () => void>();
    this.#lines.set(flow, line.set(id, granted));
    this.#waiting += 1;
    while (this.#grantNext());
  }

  /** Gives up waiting; false where the slot had been granted. */
  withdraw(flow: string, id: string): boolean {
    const line = this.#lines.get(flow);
    if (line === undefined || !line.delete(id)) return false;
    this.#waiting -= 1;
    if (line.size === 0) this.#lines.delete(flow);
    return true;
  }

  release(flow: string): void {
    this.#taken -= 1;
    const left = (this.#running.get(flow) ?? 1) - 1;
    if (left === 0) this.#running.delete(flow);
    else this.#running.set(flow, left);
    while (this.#grantNext());
  }

  /** How many of a flow wait. */
  length(flow: string): number {
    return this.#lines.get(flow)?.size ?? 0;
  }

  /** From now on nobody is granted a slot: the waiting go on waiting. */
  stop(): void {
    this.#is_stopped = true;
  }

  #isFree(flow: string): boolean {
    return this.#taken < this.#total && (this.#running.get(flow) ?? 0) < this.#per_flow;
  }

  #take(flow: string): void {
    this.#taken += 1;
    this.#running.set(flow, (this.#running.get(flow) ?? 0) + 1);
  }

  #grantNext(): boolean {
    if (this.#is_stopped) return false;
    for (const [flow, line] of this.#lines) {
      if (!this.#isFree(flow)) continue;
      const [id, granted] = line.entries().next().value as [string, () => void];
      this.withdraw(flow, id);
      // Its next turn comes after everybody else's.
      if (this.#lines.delete(flow)) this.#lines.set(flow, line);
      this.#take(flow);
      granted();
      return true;
    }
    return false;
  }
}
