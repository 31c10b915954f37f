/** So many deaths of a runner that it had alone, in the window, make a version broken. */
export const DEATHS = 3;
const WINDOW_MS = 10 * 60_000;

/** Runners of one version each, at the same time. */
const PLACES = 4;

/** When the runners died that a version was in, in milliseconds since the epoch. */
interface Record {
  deaths: number[];
  /** Those of runners in which no other version had ever been: nobody else can be the cause. */
  alone: number[];
}

/**
 * Flow versions that were in a runner when it died. Any of them may have been the cause, so that
 * they run apart from all others until it is known: one that was in more deaths than others gets
 * a runner of its own first, and only there its next death is its own.
 */
export class Quarantine {
  readonly #records = new Map<string, Record>();

  /**
   * Whether a version runs alone, with the others in quarantine, or with everybody.
   *
   * @param at milliseconds since the epoch
   */
  placeOf(key: string, at: number): "alone" | "quarantined" | "everybody" {
    const record = this.#records.get(key);
    if (record === undefined) return "everybody";
    this.#forgive(at);
    if (!this.#records.has(key)) return "everybody";
    const first = [...this.#records].toSorted(bySuspicion).slice(0, PLACES);
    return first.some(([other]) => other === key) ? "alone" : "quarantined";
  }

  /** @returns whether this was the last death that is put up with */
  note(key: string, at: number, isAlone: boolean): boolean {
    const record = this.#records.get(key) ?? { deaths: [], alone: [] };
    this.#records.set(key, record);
    record.deaths.push(at);
    if (isAlone) record.alone.push(at);
    record.alone = record.alone.filter((time) => at - time < WINDOW_MS);
    return record.alone.length >= DEATHS;
  }

  /** It starts anew: loaded again by hand. It keeps its place. */
  clear(key: string): void {
    const record = this.#records.get(key);
    if (record !== undefined) record.alone = [];
  }

  /** Who was in no death for the length of the window, and in none alone, is a suspect no more. */
  #forgive(at: number): void {
    for (const [key, { deaths, alone }] of this.#records)
      if (alone.length === 0 && at - (deaths.at(-1) ?? 0) >= WINDOW_MS) this.#records.delete(key);
  }
}

function bySuspicion([, a]: [string, Record], [, b]: [string, Record]): number {
  return b.alone.length - a.alone.length || b.deaths.length - a.deaths.length;
}
