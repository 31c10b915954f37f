import type { Log } from "../../shared/log.ts";
import { findOffered } from "../store/flow-offers.ts";
import type { StoreNode } from "../store/node.ts";
import type { Store } from "../store/store.ts";
import { toRequestError } from "../store/store-error.ts";
import { releaseWaiting } from "../store/unended.ts";
import type { ActiveExecution } from "./active.ts";
import type { QueueRoom } from "./queue-room.ts";
import type { Removals } from "./removals.ts";
import type { StartRequest } from "./start-request.ts";

export interface ForOthersDeps {
  readonly store: Store;
  readonly node: StoreNode;
  readonly room: QueueRoom;
  readonly removals: Pick<Removals, "leave">;
  readonly log: Log;
}

/** How long to wait before what could not be written is tried again. */
const RETRY_MS = 1000;

/** Calls of flows that cannot run here, and can at other nodes: they are recorded for those. */
export class ForOthers {
  readonly #deps: ForOthersDeps;

  constructor(deps: ForOthersDeps) {
    this.#deps = deps;
  }

  /**
   * The version that a node which lives offers of a flow that is broken here; null: there is none, or
   * it runs here.
   *
   * @throws RequestError queue_full, store_unavailable
   */
  async findVersion({ flow, flowName }: StartRequest): Promise<string | null> {
    const { store, node, room } = this.#deps;
    if (flow === undefined || flow.spec !== null || node.others === 0) return null;
    const offered = await findOffered(store, flowName, node.id).catch((error: unknown) => {
      throw toRequestError(error);
    });
    if (offered === undefined) return null;
    room.requirePlaceOf(offered.waiting);
    return offered.version;
  }

  /** It is recorded: whoever waits for it here gets what is written elsewhere. */
  leave(execution: ActiveExecution): void {
    this.#deps.removals.leave(execution);
    this.#release(execution.id);
  }

  #release(id: string): void {
    const { store, node, log } = this.#deps;
    store
      .commit([releaseWaiting(store, id, node.id)])
      .then(() => node.tellWaiting().catch(() => {}))
      .catch((error: unknown) => {
        log.warn(
          { execution: id, error: String(error) },
          "Cannot leave an execution to others yet",
        );
        setTimeout(() => this.#release(id), RETRY_MS).unref();
      });
  }
}
