import * as v from "valibot";

/** A page of a list, as it is answered. */
export interface List<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** The schema of a page of a list. */
export function listOf<const Item extends v.GenericSchema>(item: Item) {
  return v.strictObject({
    items: v.array(item),
    next_cursor: v.pipe(
      v.nullable(v.string()),
      v.description("Given as `cursor`, it leads to the next page; null: this is the last one"),
    ),
  });
}
