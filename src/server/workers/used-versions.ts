/** Native calls that were left behind are those of who has run so recently; milliseconds. */
const RECENT_MS = 60_000;

/** The flow versions that have been in a runner: one of them may be the cause of its end. */
export class UsedVersions {
  /** When each last had a thread started, was run or inspected, as performance.now(). */
  readonly #usedAt = new Map<string, number>();
  /** Those with threads that do not end, though nothing else holds them. */
  readonly #stuck = new Set<string>();

  /** How many have ever been in it. */
  get size(): number {
    return this.#usedAt.size;
  }

  /** The first whose thread does not end; undefined where all do. */
  get stuck(): string | undefined {
    return this.#stuck.values().next().value;
  }

  use(key: string, now: number): void {
    this.#usedAt.set(key, now);
  }

  /** @returns false where it was known already */
  addStuck(key: string): boolean {
    const isNew = !this.#stuck.has(key);
    this.#stuck.add(key);
    return isNew;
  }

  /** Who may have left native calls behind. */
  findRecent(now: number): string[] {
    return [...this.#usedAt].filter(([, at]) => at > now - RECENT_MS).map(([key]) => key);
  }

  /** Each of these once, without those that were blamed already. */
  withoutStuck(keys: readonly string[]): string[] {
    return [...new Set(keys).difference(this.#stuck)];
  }
}
