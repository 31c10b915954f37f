import type { Log } from "../../shared/log.ts";
import { listDiffering } from "../store/flow-offers.ts";
import type { Store } from "../store/store.ts";

/** Between two looks, and from when on a roll-out has taken too long; in milliseconds. */
const [EVERY_MS, LONG_MS] = [60_000, 600_000];

/** Tells once of each flow of which nodes have had different versions for long. */
export class DifferingVersions {
  readonly #store: Store;
  readonly #log: Log;
  readonly #everyMs: number;
  readonly #longMs: number;
  /** As performance.now(). */
  #askedAt = -Infinity;
  /** By flow: since when, as performance.now(); Infinity: it was told. */
  #since: ReadonlyMap<string, number> = new Map();

  constructor(store: Store, log: Log, everyMs = EVERY_MS, longMs = LONG_MS) {
    this.#store = store;
    this.#log = log;
    this.#everyMs = everyMs;
    this.#longMs = longMs;
  }

  /** Asks once a minute. @throws StoreError */
  async check(): Promise<void> {
    const at = performance.now();
    if (at - this.#askedAt < this.#everyMs) return;
    this.#askedAt = at;
    const differing = await listDiffering(this.#store);
    const since = new Map(differing.map(({ flow }) => [flow, this.#since.get(flow) ?? at]));
    for (const { flow, versions } of differing) {
      if (at - (since.get(flow) ?? at) < this.#longMs) continue;
      since.set(flow, Infinity);
      this.#log.warn({ flow, versions }, DIFFER);
    }
    this.#since = since;
  }
}

const DIFFER =
  "Nodes have had different versions of a flow in their folders for 10 minutes: each serves its own";
