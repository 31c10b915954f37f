import { now } from "../../shared/clock.ts";

/** The two clocks of a machine, in milliseconds. */
export interface Clocks {
  /** The time of day, which somebody may set. */
  wall(): number;
  /** Runs evenly from any start; it may stand still while the machine sleeps. */
  steady(): number;
}

const MACHINE: Clocks = { wall: now, steady: () => performance.now() };

/** Further apart than this within one look they have not drifted: the time of day was set. */
const JUMP_MS = 5 * 60 * 1000;

/** Tells since when the time of day can be believed. */
export class ClockWatch {
  readonly #clocks: Clocks;
  #last: { readonly wall: number; readonly steady: number };
  #doubtedAt: number | null = null;

  constructor(clocks = MACHINE) {
    this.#clocks = clocks;
    this.#last = { wall: clocks.wall(), steady: clocks.steady() };
  }

  /**
   * Compares the clocks; called often.
   *
   * @returns by how many milliseconds the time of day was set since the last look: 0 where it was
   *   not, less than 0 where it was set back
   */
  check(): number {
    const [wall, steady] = [this.#clocks.wall(), this.#clocks.steady()];
    const apart = wall - this.#last.wall - (steady - this.#last.steady);
    this.#last = { wall, steady };
    if (Math.abs(apart) < JUMP_MS) return 0;
    this.doubt();
    return Math.round(apart);
  }

  /** Begins to wait anew: something else says that the time of day is wrong. */
  doubt(): void {
    this.#doubtedAt = this.#clocks.steady();
  }

  /** Whether there was no doubt for so long. */
  isTrusted(ms: number): boolean {
    return this.#doubtedAt === null || this.#clocks.steady() - this.#doubtedAt >= ms;
  }
}
