/** What changed about an execution: its status, or lines were added to its log. */
export type Change = "status" | "log";

type Listener = (id: string, change: Change) => void;

/** Tells whoever looks on that something is committed; costs nothing while nobody does. */
export class Changes {
  readonly #listeners = new Set<Listener>();

  publish(id: string, change: Change): void {
    for (const listener of this.#listeners) listener(id, change);
  }

  /** @returns ends the subscription */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
