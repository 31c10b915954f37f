import { toMemberColumns, WEBHOOK_DEFAULTS } from "../store/webhook-columns.ts";
import {
  type CarriedWebhook,
  type Conflict,
  type ImportedWebhook,
} from "../../shared/contract/webhook-document.ts";
import { isDeepStrictEqual } from "node:util";
import { generateKey, hashKey } from "../access/api-key.ts";
import type { Principal } from "../access/login.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import type { FieldError } from "../../shared/contract/problem.ts";
import { newId } from "../../shared/id.ts";
import type { RoleRow } from "../store/people.ts";
import type { Statement, Unit } from "../store/statement.ts";
import { holdSecrets, putWebhookSecrets } from "../store/webhook-secrets.ts";
import { findWebhook, insertWebhook, updateWebhook, type WebhookRow } from "../store/webhooks.ts";
import type { SecretRow } from "../store/workspace.ts";
import { isVisible, requireIn, requireRole, requireUsable } from "./access.ts";
import type { Api } from "./api.ts";
import { readNames, toCarried, yieldTurn, type Names } from "./carried.ts";
import { invalidFields } from "./field-errors.ts";
import { toAddressColumn } from "./limit-members.ts";
import { requireInputCheck } from "./input-check-member.ts";
import { fieldsOf, ImportFaults } from "./import-faults.ts";
import { ImportNames } from "./import-names.ts";
import { requireMembers } from "./member-checks.ts";
import { invalid, nextTime } from "./named.ts";
import { toSignature } from "./signature-member.ts";
import { requireSecrets, toSignatureColumn } from "./signature-secrets.ts";
import { mayRead, projectOf } from "./webhook-record.ts";

/** What the import does with one webhook. */
interface Step extends ImportedWebhook {
  readonly statements: readonly Statement[];
  /** As it is after the import. */
  readonly row: WebhookRow;
}

/** What all webhooks of one import have in common. */
interface Import {
  readonly api: Api;
  readonly principal: Principal;
  readonly conflicts: Conflict;
  readonly names: Names;
  /** Roles and projects that were looked for before, by their names. */
  readonly roles: Map<string, Promise<RoleRow>>;
  readonly projects: ReadonlyMap<string, string>;
  readonly webhookNames: ImportNames;
  /** Those that webhooks check signatures with, by their names, as they were seen first. */
  readonly secrets: Map<string, SecretRow>;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** All that is written; empty where nothing is. */
  readonly unit: Unit;
}

/** Webhooks that are planned in one turn of the loop. */
const SLICE = 50;

/** @throws RequestError where some of the webhooks cannot be imported: then none is */
export async function plan(
  api: Api,
  principal: Principal,
  webhooks: readonly CarriedWebhook[],
  conflicts: Conflict,
): Promise<Plan> {
  const names = await readNames(api.store);
  const projects = new Map([...names.projects].map(([id, name]) => [name, id]));
  const webhookNames = new ImportNames(api.store);
  const roles = new Map<string, Promise<RoleRow>>();
  const secrets = new Map<string, SecretRow>();
  const all = { api, principal, conflicts, names, roles, projects, webhookNames, secrets };
  const steps: Step[] = [];
  const faults = new ImportFaults();
  // All of them first: what is renamed takes the name of none that comes later.
  for (const [at, { name }] of webhooks.entries())
    if (!webhookNames.add(name)) throw invalid(`webhooks.${at}.name`, `"${name}" is there twice`);
  for (const [at, webhook] of webhooks.entries()) {
    const step = await faults.gather(webhook.name, () => planOne(all, webhook, at));
    if (step !== null) steps.push(step);
    if (at % SLICE === SLICE - 1) await yieldTurn();
  }
  faults.throwIfAny();
  // First, and each once: whoever else holds some has them in the same order.
  const held = holdSecrets(api.store, [...secrets.values()]);
  return { steps, unit: [...held, ...steps.flatMap(({ statements }) => statements)] };
}

async function planOne(all: Import, webhook: CarriedWebhook, at: number): Promise<Step> {
  const { api, principal, conflicts } = all;
  const found = await findWebhook(api.store, webhook.name);
  if (found !== undefined && conflicts === "skip")
    return { name: webhook.name, action: "skip", changes: {}, statements: [], row: found };
  if (found !== undefined && conflicts === "replace" && !mayRead(api, principal, found))
    throw new RequestError("conflict", `The name "${found.name}" is taken`);
  const columns = await toColumns(all, webhook, at);
  requireIn(principal, "webhook.write", projectOf(api, { ...columns, bundle_id: null }));
  if (found !== undefined && conflicts === "replace")
    return toReplacement(all, found, columns, webhook, at);
  const guarded = await readGuarded(all, webhook, columns, at);
  const planned = { ...WEBHOOK_DEFAULTS, ...columns, ...guarded, ...loginOf(webhook) };
  requireMembers(api, planned, `webhooks.${at}.`);
  requireInputCheck(api.catalog, planned, null, `webhooks.${at}.input_check`);
  const name = found === undefined ? webhook.name : await all.webhookNames.rename(webhook.name);
  const action = found === undefined ? "create" : "rename";
  return toCreation(
    api,
    principal,
    { ...columns, ...guarded, ...loginOf(webhook) },
    { name, action },
  );
}

/** What counts the calls of each user knows them, though whether it did is not carried. */
function loginOf({ limits }: CarriedWebhook): Pick<WebhookRow, "require_login"> {
  return { require_login: Number(limits?.rate?.by === "user") };
}

/** A project that cannot be seen is one that is not here. */
function mayName(principal: Principal, project_id: string | null): boolean {
  if (project_id === null) return true;
  const permissions = ["project.read", "webhook.write"] as const;
  return permissions.some((permission) => isVisible(principal, permission, project_id));
}

type Columns = Partial<WebhookRow> &
  Pick<
    WebhookRow,
    "description" | "flow" | "role_id" | "project_id" | "execution_location" | "is_productive"
  >;

/** @throws RequestError invalid for a flow, role and project that are not here */
async function toColumns(
  { api, principal, roles, projects }: Import,
  webhook: CarriedWebhook,
  at: number,
): Promise<Columns> {
  const { description, flow, project, execution_location } = webhook;
  const wrong: FieldError[] = [];
  if (api.catalog.find(flow) === undefined)
    wrong.push({ field: "flow", message: `there is no flow "${flow}" here` });
  const role =
    webhook.role === null
      ? null
      : await roleOf(api, principal, roles, webhook.role).catch((error: unknown) => {
          wrong.push(...fieldsOf(error));
          return null;
        });
  const project_id = project === null ? null : projects.get(project);
  if (project_id === undefined || !mayName(principal, project_id))
    wrong.push({ field: "project", message: `there is no project "${project}" here` });
  if (project_id === undefined || wrong.length > 0)
    throw invalidFields(
      wrong.map(({ field, message }) => ({ field: `webhooks.${at}.${field}`, message })),
    );
  return {
    description,
    flow,
    role_id: role?.id ?? null,
    project_id,
    execution_location,
    is_productive: Number(webhook.is_productive),
    ...toMemberColumns(webhook),
  };
}

/** @throws RequestError invalid, or forbidden for a role that allows more */
function roleOf(
  api: Api,
  principal: Principal,
  roles: Import["roles"],
  name: string,
): Promise<RoleRow> {
  const found = roles.get(name) ?? requireRole(api.store, principal, name);
  roles.set(name, found);
  return found;
}

function toCreation(
  api: Api,
  principal: Principal,
  columns: Columns & Pick<WebhookRow, "require_login">,
  { name, action }: Pick<Step, "name" | "action">,
): Step {
  const key = generateKey();
  const at = now();
  const row: WebhookRow = {
    id: newId(),
    ...WEBHOOK_DEFAULTS,
    ...columns,
    name,
    bundle_id: null,
    is_enabled: 0,
    key_hash: hashKey(key),
    previous_key_hash: null,
    previous_key_until: null,
    key_used_at: null,
    previous_key_used_at: null,
    created_by: principal.user_id,
    created_at: at,
    modified_by: principal.user_id,
    modified_at: at,
  };
  const { secrets = [] } = JSON.parse(row.signature ?? "{}") as { secrets?: string[] };
  const named = secrets.length === 0 ? [] : putWebhookSecrets(api.store, row.id, secrets);
  const statements = [insertWebhook(api.store, row), ...named];
  return { name, action, changes: {}, key, statements, row };
}

/**
 * What only the authentication endpoint changes: a webhook that is created has it from the start.
 *
 * @throws RequestError invalid for a secret that is not here, forbidden
 */
async function readGuarded(
  { api, principal, secrets }: Import,
  { signature = null, allowed_addresses = [] }: CarriedWebhook,
  columns: Columns,
  at: number,
): Promise<Partial<WebhookRow>> {
  if (signature === null && allowed_addresses.length === 0) return {};
  const project = projectOf(api, { ...columns, bundle_id: null });
  requireIn(principal, "webhook.authenticate", project);
  const addresses = {
    allowed_addresses: toAddressColumn(allowed_addresses, `webhooks.${at}.allowed_addresses`),
  };
  if (signature === null) return addresses;
  requireIn(principal, "secret.use", project);
  const path = `webhooks.${at}.signature`;
  const member = toSignature(signature, api.base_url, path);
  for (const seen of await requireSecrets(api, member, path))
    if (!secrets.has(seen.name)) secrets.set(seen.name, seen);
  return { ...addresses, ...toSignatureColumn(member) };
}

/** The webhook stays as enabled, and keeps the key and login that it has here. */
async function toReplacement(
  { api, principal, names }: Import,
  found: WebhookRow,
  columns: Columns,
  webhook: CarriedWebhook,
  at: number,
): Promise<Step> {
  requireIn(principal, "webhook.write", projectOf(api, found));
  await requireUsable(api.store, principal, api.permissionsOf(found));
  // What is guarded stays as it is here.
  const { signature: _signature, allowed_addresses: _addresses, ...free } = webhook;
  const changes = difference(toCarried(names, found), free);
  const stamps = { modified_by: principal.user_id, modified_at: nextTime(found) };
  // In a project it is in no bundle any more: it can be in one of them only.
  const place = columns.project_id === null ? {} : { bundle_id: null };
  const change = { ...columns, ...place, ...stamps };
  const replaced = { ...found, ...change };
  requireMembers(api, replaced, `webhooks.${at}.`);
  requireInputCheck(api.catalog, replaced, found, `webhooks.${at}.input_check`);
  const statements =
    Object.keys(changes).length === 0
      ? []
      : [updateWebhook(api.store, found.id, found.modified_at, change)];
  return { name: found.name, action: "replace", changes, statements, row: replaced };
}

function difference(
  from: CarriedWebhook,
  to: Omit<CarriedWebhook, "signature" | "allowed_addresses">,
): Step["changes"] {
  const members = Object.keys(to) as (keyof typeof to)[];
  const differing = members.filter((member) => !isDeepStrictEqual(from[member], to[member]));
  return Object.fromEntries(
    differing.map((member) => [member, { from: from[member], to: to[member] }]),
  );
}
