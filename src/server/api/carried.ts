import { USUAL, type CarriedWebhook } from "../../shared/contract/webhook-document.ts";
import { isDeepStrictEqual } from "node:util";
import { listNames } from "../store/people.ts";
import type { Store } from "../store/store.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { showAddresses } from "./limit-members.ts";
import { showSignature } from "./signature-member.ts";
import { toMembers } from "../store/webhook-columns.ts";

/** Names by identifiers: what is carried to another workspace knows roles and projects by name. */
export interface Names {
  readonly roles: ReadonlyMap<string, string>;
  readonly projects: ReadonlyMap<string, string>;
}

/** Read once for all webhooks of an export or an import. */
export async function readNames(store: Store): Promise<Names> {
  const toMap = (rows: readonly { id: string; name: string }[]) =>
    new Map(rows.map(({ id, name }) => [id, name]));
  return {
    roles: toMap(await listNames(store, "role")),
    projects: toMap(await listNames(store, "project")),
  };
}

export function toCarried({ roles, projects }: Names, row: WebhookRow): CarriedWebhook {
  return {
    name: row.name,
    description: row.description,
    flow: row.flow,
    role: roles.get(row.role_id ?? "") ?? null,
    project: projects.get(row.project_id ?? "") ?? null,
    execution_location: row.execution_location,
    is_productive: row.is_productive === 1,
    ...toMembers(row),
    signature: showSignature(row.signature),
    allowed_addresses: showAddresses(row.allowed_addresses),
  };
}

/** Without the members that have their defaults, which nobody has to read. */
export function toShort(carried: CarriedWebhook): Partial<CarriedWebhook> {
  const isUsual = (name: string, value: unknown): boolean =>
    name in USUAL && isDeepStrictEqual(value, USUAL[name as keyof typeof USUAL]);
  const kept = Object.entries(carried).filter(([name, value]) => !isUsual(name, value));
  return Object.fromEntries(kept);
}

/** Lets whoever else has something to do in the HTTP loop do it. */
export function yieldTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
