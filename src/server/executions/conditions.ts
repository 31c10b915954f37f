/** Who waits until a condition holds; each is checked whenever one may have come true. */
export class Conditions {
  readonly #listeners = new Set<() => void>();

  until(holds: () => boolean): Promise<void> {
    if (holds()) return Promise.resolve();
    return new Promise((resolve) => {
      const listener = (): void => {
        if (!holds()) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
    });
  }

  check(): void {
    for (const listener of this.#listeners) listener();
  }
}
