/** What changed about an execution: its status, or lines were added to its log. */
export type Change = "status" | "log";

/** Tells whoever looks on that something is committed; costs nothing while nobody does. */
export interface Changes {
  publish(id: string, change: Change): void;
  /** @returns ends the subscription */
  subscribe(listener: (id: string, change: Change) => void): () => void;
}

export function openChanges(): Changes {
  const listeners = new Set<(id: string, change: Change) => void>();
  return {
    publish(id, change) {
      for (const listener of listeners) listener(id, change);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
