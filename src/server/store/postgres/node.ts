import { now } from "../../../shared/clock.ts";
import { useSlot } from "../../../shared/id.ts";
import type { StoreNode } from "../node.ts";
import type { Client } from "./client.ts";
import type { Joined } from "./thread-protocol.ts";

/** The service as a node, which its first joining has made it; disposed of, it makes no keys. */
export function openNode(client: Client, name: string, joined: Joined): StoreNode & Disposable {
  let { id } = joined;
  let release = useSlot(joined.slot, joined.largestKey);
  return {
    name,
    [Symbol.dispose]: () => release(),
    get id() {
      return id;
    },
    get others() {
      return client.others;
    },
    async renew(figures) {
      const asked = now();
      const { isMember, at, others } = await client.renew(figures);
      client.others = others;
      return { isMember, behindMs: differenceOf(at, asked, now()) };
    },
    correctClock: (behindMs) => client.correctClock(behindMs),
    async rejoin() {
      const again = await client.rejoin();
      release = useSlot(again.slot, again.largestKey);
      id = again.id;
    },
    sweep: () => client.sweep(),
    tellAwaited: (ids, left) => client.tellAwaited(ids, left),
    tellWaiting: () => client.tellWaiting(),
    onWaiting: (act) => client.onWaiting(act),
    isAwaited: (asked) => client.isAwaited(asked),
    listLost: (ids) => client.listLost(ids),
    listWaiting: () => client.listWaiting(),
    endUnserved: (flows) => client.endUnserved(flows),
    take: (wanted) => client.take(wanted),
    listStartable: (webhooks) => client.listStartable(webhooks),
  };
}

/**
 * By how much a clock is surely behind another one that told its time in between: what the way of
 * the question and of the answer may have taken is no difference.
 */
export function differenceOf(told: number, asked: number, answered: number): number {
  if (told < asked) return told - asked;
  return told > answered ? told - answered : 0;
}
