import type { Principal } from "../access/login.ts";
import { now } from "../../shared/clock.ts";
import { toResourceName } from "../../shared/resource-name.ts";
import type { Store } from "../store/store.ts";
import { findUserByName } from "../store/people.ts";
import { insertAudit } from "../store/workspace.ts";
import type { Answer, Route } from "./route.ts";
import type { AuditRateLimit } from "./audit-rate-limit.ts";

/** What becomes one audit entry: who did what to what, when, from where, with what result. */
export interface AuditEntry {
  actor(principal: Principal | null): void;
  /** Names of the members that were given; never their values, which may be secrets. */
  given(body: unknown): void;
  /** Resolves when the entry is committed; one that is closed again has the time of the first. */
  close(result: string, done?: Pick<Answer, "target" | "changes">): Promise<void>;
}

/** What is named otherwise is no member of any resource, and might be a value gone astray. */
const MEMBER = /^[a-z_]{1,40}$/;

/** Without a login only names that the route has are kept: nobody else chooses them. */
function membersOf(body: object, { body: schema }: Pick<Route, "body">, isAnonymous: boolean) {
  const { entries = {} } = (schema ?? {}) as { readonly entries?: object };
  const names = Object.keys(body).filter((name) => MEMBER.test(name));
  return names.filter((name) => !isAnonymous || Object.hasOwn(entries, name)).slice(0, 40);
}

/** For a route without an action nothing is written. */
export function openEntry(
  { store, auditRateLimit }: { store: Store; auditRateLimit: AuditRateLimit },
  route: Pick<Route, "action" | "body">,
  from: { address: string; params: Readonly<Record<string, string>> },
): AuditEntry {
  let actor: Principal | null = null;
  let members: string[] = [];
  const [param] = Object.values(from.params);
  let named = param === undefined ? null : toResourceName(param);
  let loginName: string | null = null;
  let at: number | null = null;
  return {
    actor(principal) {
      actor = principal;
    },
    given(body) {
      if (typeof body !== "object" || body === null) return;
      const { name, user_name } = body as Record<string, unknown>;
      members = membersOf(body, route, actor === null);
      if (typeof user_name === "string") loginName = user_name;
      if (typeof name === "string") named ??= toResourceName(name);
    },
    async close(result, { target: actedOn, changes = [] } = {}) {
      const { action } = route;
      if (action === null) return;
      const isRefused = !result.startsWith("2");
      if (isRefused && actor === null && !auditRateLimit.admits()) return;
      at ??= now();
      const target = actedOn ?? named ?? (await findKnown(store, loginName));
      const entry = {
        at,
        user_id: actor?.user_id ?? null,
        user_name: actor?.user_name ?? null,
        address: from.address,
        node: store.node?.name ?? null,
        action,
        target: target?.slice(0, 256) ?? null,
        result,
        members: JSON.stringify(members),
        changes: changes.length === 0 ? null : JSON.stringify(changes),
      };
      await store.commit([insertAudit(store, entry)]);
    },
  };
}

/** null where there is no such user: it may be a password in the wrong field. */
async function findKnown(store: Store, name: string | null): Promise<string | null> {
  const user = name === null ? undefined : await findUserByName(store, name.normalize("NFC"));
  return user?.name ?? null;
}
