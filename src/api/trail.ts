import type { Principal } from "../access/login.ts";
import { now } from "../lib/clock.ts";
import type { Store } from "../store/database.ts";
import { insertAudit } from "../store/workspace.ts";
import type { Route } from "./route.ts";

/** What becomes one audit entry: who did what to what, when, from where, with what result. */
export interface Trail {
  actor(principal: Principal | null): void;
  /** Names of the members that were given; never their values, which may be secrets. */
  given(body: unknown): void;
  /** Resolves when the entry is committed. */
  close(result: string): Promise<void>;
}

/** For a route without an action nothing is written. */
export function openTrail(
  store: Store,
  { action }: Pick<Route, "action">,
  from: { address: string; params: Readonly<Record<string, string>> },
): Trail {
  let actor: Principal | null = null;
  let members: string[] = [];
  let target = Object.values(from.params)[0] ?? null;
  return {
    actor(principal) {
      actor = principal;
    },
    given(body) {
      if (typeof body !== "object" || body === null) return;
      const { name, user_name } = body as Record<string, unknown>;
      members = Object.keys(body);
      for (const named of [user_name, name]) if (typeof named === "string") target ??= named;
    },
    async close(result) {
      if (action === null) return;
      const entry = {
        at: now(),
        user_id: actor?.user_id ?? null,
        user_name: actor?.user_name ?? null,
        address: from.address,
        action,
        target: target?.slice(0, 256) ?? null,
        result,
        members: JSON.stringify(members),
      };
      await store.commit([insertAudit(store, entry)]);
    },
  };
}
