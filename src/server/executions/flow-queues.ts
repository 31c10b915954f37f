import type { Run, Worker } from "../workers/worker.ts";
import { FlowQueue } from "./flow-queue.ts";

/** All flows as the scheduler sees them, and the order in which those that wait take turns. */
export class FlowQueues {
  readonly #flows = new Map<string, FlowQueue>();
  /** Flows with waiting runs, in the order of their turns. */
  #turns: FlowQueue[] = [];
  /** Runs that have come. */
  #runs = 0;

  of(name: string): FlowQueue {
    const found = this.#flows.get(name);
    if (found !== undefined) return found;
    const flow = new FlowQueue();
    this.#flows.set(name, flow);
    return flow;
  }

  [Symbol.iterator](): Iterator<FlowQueue> {
    return this.#flows.values();
  }

  get workers(): Worker[] {
    return [...this].flatMap(({ workers }) => workers);
  }

  /** Runs that have a thread, and runs that wait for one. */
  counts(): { running: number; waiting: number } {
    let running = 0;
    let waiting = 0;
    for (const { runs, workers } of this) {
      waiting += runs.length;
      for (const worker of workers) {
        if (worker.current !== null) running += 1;
        waiting += worker.reserved + Math.max(0, worker.length - 1);
      }
    }
    return { running, waiting };
  }

  /** A run waits. One that was here already, or takes the place of such a one, has that one's turn. */
  add(run: Run): void {
    const flow = this.of(run.flow);
    if (run.turn === Infinity) {
      run.turn = this.#runs += 1;
      flow.runs.push(run);
    } else flow.runs.insert(run, ({ turn }) => turn > run.turn);
    this.await(flow);
  }

  /** Runs of it wait: it has its turn after all others that do. */
  await(flow: FlowQueue): void {
    if (!this.#turns.includes(flow)) this.#turns.push(flow);
  }

  /** What was taken for a worker waits again, before all others of its flow. */
  requeue(flow: FlowQueue, runs: readonly Run[]): void {
    for (const run of runs) run.returned();
    this.putBack(flow, runs);
  }

  /** As `requeue`, of what was taken and not handed over. */
  putBack(flow: FlowQueue, runs: readonly Run[]): void {
    if (runs.length === 0) return;
    flow.runs.unshift(runs);
    this.await(flow);
  }

  /** @returns whether this holds for a flow that waits, but for this one */
  someOther(own: FlowQueue, holds: (flow: FlowQueue) => boolean): boolean {
    return this.#turns.some((flow) => flow !== own && holds(flow));
  }

  /**
   * Each flow has its turn, and again, until no flow gets any further.
   *
   * @param give hands over the next runs of a flow; false: none
   */
  takeTurns(give: (flow: FlowQueue) => boolean): void {
    for (let isGiven = true; isGiven;) {
      isGiven = false;
      this.#turns = this.#turns.filter(isWaiting);
      // Who was given something has its next turn after everybody else's.
      for (const flow of this.#turns.slice()) {
        if (!give(flow)) continue;
        isGiven = true;
        this.#turns.splice(this.#turns.indexOf(flow), 1);
        this.#turns.push(flow);
      }
    }
  }
}

/** Whether runs of a flow wait; where none does, none has waited long. */
function isWaiting(flow: FlowQueue): boolean {
  if (flow.runs.length > 0) return true;
  flow.shortSince = null;
  return false;
}
