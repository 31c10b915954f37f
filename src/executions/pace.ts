/** How long the flows' runs take, and so what is worth doing before their turn. */
export class Pace {
  /** Mean of the latest runs of each flow, in milliseconds. */
  readonly #means = new Map<string, number>();
  readonly #per_flow: number;

  /** @param per_flow FLOW_MAX_CONCURRENT */
  constructor(per_flow: number) {
    this.#per_flow = per_flow;
  }

  /**
   * @param ms from its dispatch to its end
   * @param held how many of the flow the runner held then: beyond its threads they wait there
   */
  learn(flow: string, ms: number, held: number): void {
    const took = ms * Math.min(1, this.#per_flow / held);
    const mean = this.#means.get(flow) ?? took;
    this.#means.set(flow, mean * 0.9 + took * 0.1);
  }

  /** A run did not begin when it was expected: until others have ended, nothing is done ahead. */
  slowDown(flow: string): void {
    this.#means.set(flow, SLOW_MS);
  }

  /** How many of those that wait are expected to run within NEAR_MS: they are marked RUNNING. */
  near(flow: string): number {
    const mean = this.#means.get(flow);
    if (mean === undefined || mean > NEAR_MS) return 0;
    return Math.floor((NEAR_MS / Math.max(mean, 0.1)) * this.#per_flow);
  }

  /** How many the runner is given beyond its threads, so that none is idle for want of a message. */
  ahead(flow: string): number {
    const mean = this.#means.get(flow);
    if (mean === undefined || mean > AHEAD_MS) return 0;
    return Math.floor(Math.min(MOST_AHEAD, AHEAD_MS / mean) * this.#per_flow);
  }
}

/** Expected to run within this time: marked RUNNING, and given to the runner; in milliseconds. */
const NEAR_MS = 20;
const AHEAD_MS = 4;
/** For each thread of the flow; what is in the runner is lost with it. */
const MOST_AHEAD = 4;
const SLOW_MS = 100;
