/** A place in a list; it moves when others leave. */
export interface Slot<Item> {
  readonly item: Item;
  at: number;
}

/**
 * A set of what comes and goes within milliseconds, in no order. A Set or Map that thousands of
 * fresh members pass through in a second is copied again and again, and costs more than all else.
 */
export class SlotList<Item> {
  readonly #slots: Slot<Item>[] = [];

  add(item: Item): Slot<Item> {
    const slot = { item, at: this.#slots.length };
    this.#slots.push(slot);
    return slot;
  }

  /** The last of the list takes its place. */
  delete(slot: Slot<Item>): void {
    if (this.#slots[slot.at] !== slot) return;
    const last = this.#slots.pop() as Slot<Item>;
    if (last === slot) return;
    this.#slots[slot.at] = last;
    last.at = slot.at;
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const { item } of this.#slots) yield item;
  }

  find(holds: (item: Item) => boolean): Item | undefined {
    for (const { item } of this.#slots) if (holds(item)) return item;
    return undefined;
  }
}
