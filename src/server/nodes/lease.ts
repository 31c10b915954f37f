import { correctClock } from "../../shared/clock.ts";
import type { Log } from "../../shared/log.ts";
import type { ReportInterrupted } from "../store/interrupted.ts";
import { isPassing } from "../store/store-error.ts";
import type { NodeFigures, StoreNode, Swept } from "../store/node.ts";

export interface LeaseOptions {
  readonly node: StoreNode;
  /** NODE_LEASE_SEC, in milliseconds. */
  readonly leaseMs: number;
  readonly log: Log;
  /** Of what ran on nodes that were lost. */
  readonly reportInterrupted: ReportInterrupted;
}

/** Whose lease it is, once that serves. */
export interface LeaseHolder {
  /** What the node tells of itself. */
  figures(): NodeFigures;
  /** The others have given it up: what it had is theirs. */
  onGivenUp(): void;
}

export interface LeaseFigures {
  /** Of the lease, as far as can be told here. */
  readonly leftMs: number;
  /** Of the machine's clock, against that of the database. */
  readonly behindMs: number;
  /** Others that this one has found lost. */
  readonly lost: number;
  /** How often the others gave this one up. */
  readonly givenUp: number;
}

/** Renewals in the time of a lease. */
const RENEWALS = 3;
/** So long, in leases, a node has to have had its own without a gap before it ends others'. */
const TRUST = 2;
/** A renewal that is so late, in leases, is a gap: others may have missed one more than this one. */
const GAP = 2 / 3;
/** A clock that differs by less is left alone; by more than the second, its operator is told. */
const [CLOCK_MS, CLOCK_WARNING_MS] = [100, 1000];

/** A node that starts. */
const STARTING: LeaseHolder = {
  figures: () => ({ state: "ready", running: 0, waiting: 0 }),
  onGivenUp() {},
};

const NOTHING: Swept = { nodes: [], interrupted: [] };

/**
 * Keeps the service one of the nodes that share its store, by a lease which the server's own loop
 * renews: one that hangs loses it. Gives up nodes that have lost theirs.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #timer: NodeJS.Timeout;
  #holder = STARTING;
  /** When it was renewed last, and since when it was without a gap, as performance.now(). */
  #renewedAt = performance.now();
  #heldSince = performance.now();
  #behindMs = 0;
  #lost = 0;
  #givenUp = 0;
  /** Until it is one of the others again. */
  #isGivenUp = false;
  #complaint: string | null = null;
  /** Whoever must not go on before it is known whether the node still is one. */
  #awaited: PromiseWithResolvers<void> | null = null;
  #renewing: Promise<void> | null = null;
  #sweeping: Promise<void> | null = null;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#renewQuietly(), options.leaseMs / RENEWALS);
    this.#renewQuietly();
  }

  /** Until then it is that of a node that starts, however long it takes. */
  serve(holder: LeaseHolder): void {
    this.#holder = holder;
  }

  /** Whether it holds, as far as can be told here: others may have given the node up already. */
  get isHeld(): boolean {
    return performance.now() - this.#renewedAt < this.#options.leaseMs;
  }

  /** Renews it where it is over: resolves once what others have taken is left. null: it holds. */
  renewal(): Promise<void> | null {
    if (this.isHeld) return null;
    this.#renewQuietly();
    return (this.#awaited ??= Promise.withResolvers<void>()).promise;
  }

  /** What became of it and of the others since the start, for whoever watches. */
  get figures(): LeaseFigures {
    const leftMs = this.#renewedAt + this.#options.leaseMs - performance.now();
    return {
      leftMs: Math.max(0, leftMs),
      behindMs: this.#behindMs,
      lost: this.#lost,
      givenUp: this.#givenUp,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
    await this.#sweeping;
  }

  #renewQuietly(): void {
    this.#renewing ??= this.#renew()
      .catch((error: unknown) => {
        // Nor may others have been able to: none is given up for that.
        this.#heldSince = performance.now();
        this.#complain(error);
      })
      .finally(() => (this.#renewing = null));
  }

  /** Once for each reason: the store tells itself when it is away. */
  #complain(error: unknown): void {
    const reason = String(error);
    if (isPassing(error) || reason === this.#complaint) return;
    this.#complaint = reason;
    this.#options.log.error({ error: reason }, "Cannot renew the lease of this node; trying again");
  }

  async #renew(): Promise<void> {
    const { node, leaseMs } = this.#options;
    const askedAt = performance.now();
    const { isMember, behindMs } = await node.renew(this.#holder.figures());
    if (!isMember) await this.#rejoin();
    const hasGap = performance.now() - this.#renewedAt >= GAP * leaseMs;
    // A clock of the database that was set ahead has made all leases look old.
    if (!isMember || hasGap || Math.abs(behindMs) >= leaseMs / RENEWALS) this.#heldSince = askedAt;
    this.#renewedAt = askedAt;
    this.#complaint = null;
    this.#awaited?.resolve();
    this.#awaited = null;
    this.#correct(behindMs);
    if (askedAt - this.#heldSince >= TRUST * leaseMs) this.#sweepQuietly();
  }

  /** However long it takes, the lease is renewed meanwhile. */
  #sweepQuietly(): void {
    this.#sweeping ??= this.#sweep()
      .catch((error: unknown) =>
        this.#options.log.debug({ error: String(error) }, "Cannot look for lost nodes"),
      )
      .finally(() => (this.#sweeping = null));
  }

  async #sweep(): Promise<void> {
    const { nodes, interrupted } = (await this.#options.node.sweep()) ?? NOTHING;
    this.#lost += nodes.length;
    if (nodes.length + interrupted.length === 0) return;
    const sum = { nodes, interrupted: interrupted.length };
    this.#options.log.warn(sum, "Nodes were lost: what ran there was ended");
    this.#options.reportInterrupted(interrupted);
  }

  async #rejoin(): Promise<void> {
    const { node, log } = this.#options;
    if (!this.#isGivenUp) {
      this.#isGivenUp = true;
      this.#givenUp += 1;
      log.error("This node was given up by the others: what it ran is theirs now");
    }
    this.#holder.onGivenUp();
    await node.rejoin();
    this.#isGivenUp = false;
    log.info("This node is one of the others again");
  }

  /** Times and identifiers of all nodes agree: they are those of the store's clock. */
  #correct(behindMs: number): void {
    const total = this.#behindMs + behindMs;
    if (Math.abs(behindMs) < CLOCK_MS) return;
    if (Math.abs(behindMs) > CLOCK_WARNING_MS)
      this.#options.log.warn(
        { clock_difference_ms: total },
        "The clock of this machine differs from that of the database, which is used",
      );
    this.#behindMs = total;
    correctClock(total);
    this.#options.node.correctClock(total);
  }
}
