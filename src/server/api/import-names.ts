import type { Store } from "../store/store.ts";
import { findWebhook } from "../store/webhooks.ts";
import { yieldTurn } from "./carried.ts";

/** Names that are tried in one turn of the loop. */
const SLICE = 50;

/** The names of an import's webhooks: those of its document, and those given instead of taken ones. */
export class ImportNames {
  readonly #store: Store;
  readonly #taken = new Set<string>();
  /** The last number that was given to a name, by what stands before it. */
  readonly #numbers = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** @returns false where the document has it already */
  add(name: string): boolean {
    if (this.#taken.has(name)) return false;
    this.#taken.add(name);
    return true;
  }

  /** The name with the first number that is free. */
  async rename(name: string): Promise<string> {
    const stem = [...name].slice(0, 120).join("");
    for (let number = this.#numbers.get(stem) ?? 2; ; number += 1) {
      const candidate = `${stem}-${number}`;
      if (number % SLICE === 0) await yieldTurn();
      if (this.#taken.has(candidate)) continue;
      if ((await findWebhook(this.#store, candidate)) !== undefined) continue;
      this.#taken.add(candidate);
      this.#numbers.set(stem, number + 1);
      return candidate;
    }
  }
}
