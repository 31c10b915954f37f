import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { SlotList, type Slot } from "../../src/server/executions/slot-list.ts";

test("whoever has not left is found, whatever the order", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(30))), (acts) => {
      const list = new SlotList<number>();
      const all: Slot<number>[] = [];
      const left = new Set<number>();
      for (const [item, act] of acts.entries()) {
        const slot = act === null ? undefined : all[act];
        if (slot === undefined) all.push(list.add(item));
        else {
          list.delete(slot);
          left.add(slot.item);
        }
      }
      const here = all.map(({ item }) => item).filter((item) => !left.has(item));
      assert.deepEqual(new Set(list), new Set(here));
      for (const item of left)
        assert.equal(
          list.find((other) => other === item),
          undefined,
        );
      for (const item of here)
        assert.equal(
          list.find((other) => other === item),
          item,
        );
    }),
  );
});
