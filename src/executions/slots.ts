/**
 * Who may run: at most `total` executions at the same time and at most `per_flow` of one flow.
 * Waiting flows take turns, so that one cannot starve the others; within a flow, first come
 * first served.
 */
export interface Slots {
  /** Takes a slot if one is free and nobody of this flow waits for it. */
  tryTake(flow: string): boolean;
  /** `granted` is called once, when the flow has its turn; the slot is taken then. */
  wait(flow: string, id: string, granted: () => void): void;
  /** Gives up waiting; false where the slot had been granted. */
  withdraw(flow: string, id: string): boolean;
  release(flow: string): void;
  /** The first of a flow's line, in order. */
  next(flow: string, count: number): string[];
  /** From now on nobody is granted a slot: the waiting go on waiting. */
  stop(): void;
  readonly running: number;
  readonly waiting: number;
}

export function openSlots({ total, per_flow }: { total: number; per_flow: number }): Slots {
  const running = new Map<string, number>();
  /** Flows in the order of their turns. */
  const queues = new Map<string, Map<string, () => void>>();
  let taken = 0;
  let waiting = 0;
  let is_stopped = false;

  const isFree = (flow: string): boolean => taken < total && (running.get(flow) ?? 0) < per_flow;

  function take(flow: string): void {
    taken += 1;
    running.set(flow, (running.get(flow) ?? 0) + 1);
  }

  function grantNext(): boolean {
    if (is_stopped) return false;
    for (const [flow, queue] of queues) {
      if (!isFree(flow)) continue;
      const [id, granted] = queue.entries().next().value as [string, () => void];
      remove(flow, queue, id);
      if (queues.delete(flow)) queues.set(flow, queue);
      take(flow);
      granted();
      return true;
    }
    return false;
  }

  function remove(flow: string, queue: Map<string, () => void>, id: string): boolean {
    if (!queue.delete(id)) return false;
    waiting -= 1;
    if (queue.size === 0) queues.delete(flow);
    return true;
  }

  return {
    tryTake(flow) {
      if (queues.has(flow) || !isFree(flow)) return false;
      take(flow);
      return true;
    },
    wait(flow, id, granted) {
      const queue = queues.get(flow) ?? new Map<string, () => void>();
      queues.set(flow, queue.set(id, granted));
      waiting += 1;
      while (grantNext());
    },
    withdraw(flow, id) {
      const queue = queues.get(flow);
      return queue !== undefined && remove(flow, queue, id);
    },
    release(flow) {
      taken -= 1;
      const left = (running.get(flow) ?? 1) - 1;
      if (left === 0) running.delete(flow);
      else running.set(flow, left);
      while (grantNext());
    },
    next: (flow, count) => [...(queues.get(flow)?.keys().take(count) ?? [])],
    stop() {
      is_stopped = true;
    },
    get running() {
      return taken;
    },
    get waiting() {
      return waiting;
    },
  };
}
