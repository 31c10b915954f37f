import { toMemberColumns, WEBHOOK_DEFAULTS } from "../store/webhook-columns.ts";
import { GUARDED, isGuarded } from "../../shared/contract/guarded-members.ts";
import { listOf } from "../../shared/contract/list.ts";
import {
  CREATED_WEBHOOK,
  NEW_WEBHOOK,
  WEBHOOK,
  WEBHOOK_CHANGE,
  type WebhookChange,
} from "../../shared/contract/webhook.ts";
import * as v from "valibot";
import { generateKey, hashKey } from "../access/api-key.ts";
import { toGrants, type Principal } from "../access/login.ts";
import { covers, isAllowed } from "../access/permission.ts";
import { now } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import { describeUnknown } from "../../shared/nearest.ts";
import { findProject, findRoleByName, listRoles } from "../store/people.ts";
import {
  deleteWebhook,
  insertWebhook,
  listWebhooks,
  updateWebhook,
  type WebhookRow,
} from "../store/webhooks.ts";
import { requireIn, requireRole, requireUsable } from "./access.ts";
import type { Api } from "./api.ts";
import { changesOf, creationOf, deletionOf } from "./audit-changes.ts";
import { requireMembers } from "./member-checks.ts";
import { requireInputCheck } from "./input-check-member.ts";
import { fromCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { invalidFields, MOST_FIELDS } from "./field-errors.ts";
import { describeMissing } from "./missing.ts";
import { flag, resourceName, searched } from "./parameters.ts";
import { commitNamed, invalid, nextTime, requireMatch, toEtag } from "./named.ts";
import { defineRoute } from "./route.ts";
import {
  answerWebhook,
  projectOf,
  requireWebhook,
  toWebhook,
  withinVisible,
} from "./webhook-record.ts";

export const getWebhooks = defineRoute({
  method: "GET",
  path: "/webhook",
  summary: "List webhooks by name",
  needs: "webhook.read",
  query: v.strictObject({
    ...PAGE_QUERY,
    flow: resourceName("Name of the flow"),
    is_enabled: v.optional(flag("Whether it answers calls")),
    text: searched("What the name or the description contains, in any case"),
  }),
  answer: listOf(WEBHOOK),
  async act(api, { principal, query, base_url }) {
    const rows = await listWebhooks(api.store, {
      within: withinVisible(api, principal),
      flow: query.flow,
      text: query.text,
      is_enabled: query.is_enabled === undefined ? undefined : Number(query.is_enabled),
      after: fromCursor(query.cursor),
      descending: query.order === "desc",
      limit: query.limit + 1,
    });
    const roles = new Map((await listRoles(api.store)).map((role) => [role.id, role.name]));
    const page = toPage(rows, query.limit, (row) => row.name);
    const toItem = (row: WebhookRow) =>
      toWebhook(row, {
        role: roles.get(row.role_id ?? "") ?? null,
        base_url,
        call_mode: api.callModeOf(row),
      });
    return { status: 200, body: toList(page, toItem) };
  },
});

export const getWebhook = defineRoute({
  method: "GET",
  path: "/webhook/:name",
  summary: "Read one webhook",
  needs: "webhook.read",
  answer: WEBHOOK,
  async act(api, { principal, params, base_url }) {
    const row = await requireWebhook(api, principal, params["name"] ?? "");
    const body = await answerWebhook(api, row, base_url);
    return { status: 200, body, headers: { etag: toEtag(row) } };
  },
});

export const createWebhook = defineRoute({
  method: "POST",
  path: "/webhook",
  summary: "Create a webhook from a flow: disabled, with a random key that is shown this once",
  needs: "webhook.write",
  action: "webhook.create",
  body: NEW_WEBHOOK,
  example: { name: "orders", flow: "hello", description: "Orders of the shop", methods: ["POST"] },
  status: 201,
  answer: CREATED_WEBHOOK,
  async act(api, { principal, body, base_url }) {
    requireFlow(api, principal, body.flow);
    const key = generateKey();
    const at = now();
    const row: WebhookRow = {
      id: newId(),
      name: body.name,
      description: body.description ?? "",
      flow: body.flow,
      role_id: await roleOf(api, principal, body),
      project_id: body.project_id ?? null,
      bundle_id: body.bundle_id ?? null,
      is_enabled: 0,
      is_productive: Number(body.is_productive ?? true),
      require_login: 0,
      key_hash: hashKey(key),
      previous_key_hash: null,
      previous_key_until: null,
      key_used_at: null,
      previous_key_used_at: null,
      execution_location: body.execution_location ?? "webhook",
      ...WEBHOOK_DEFAULTS,
      ...toMemberColumns(body),
      created_by: principal.user_id,
      created_at: at,
      modified_by: principal.user_id,
      modified_at: at,
    };
    await requirePlace(api, principal, row);
    requireMembers(api, row);
    requireInputCheck(api.catalog, row, null);
    await commitNamed(api.store, row.name, [insertWebhook(api.store, row)]);
    api.executions.queues.limit(row);
    const webhook = await answerWebhook(api, row, base_url);
    const changes = creationOf("webhook", body, webhook);
    return { status: 201, body: { ...webhook, key }, headers: { etag: toEtag(row) }, changes };
  },
});

export const patchWebhook = defineRoute({
  method: "PATCH",
  path: "/webhook/:name",
  summary: "Change a webhook; is_enabled, require_login and key have an endpoint of their own",
  needs: "webhook.write",
  action: "webhook.change",
  body: WEBHOOK_CHANGE,
  example: { default_mode: "async", async_status: 202 },
  answer: WEBHOOK,
  async act(api, { principal, params, body, base_url, ifMatch }) {
    const row = await requireWebhook(api, principal, params["name"] ?? "");
    refuseGuarded(body, row.name);
    requireIn(principal, "webhook.write", projectOf(api, row));
    await requireUsable(api.store, principal, api.permissionsOf(row));
    requireMatch(row, ifMatch);
    if (body.flow !== undefined && body.flow !== row.flow) requireFlow(api, principal, body.flow);
    const change = await toChange(api, principal, row, body);
    const changed = { ...row, ...change };
    await requirePlace(api, principal, changed);
    requireMembers(api, changed);
    requireInputCheck(api.catalog, changed, row);
    await commitNamed(api.store, changed.name, [
      updateWebhook(api.store, row.id, row.modified_at, change),
    ]);
    api.executions.queues.limit(changed);
    const webhook = await answerWebhook(api, changed, base_url);
    const changes = changesOf("webhook", await answerWebhook(api, row, base_url), webhook);
    return { status: 200, body: webhook, headers: { etag: toEtag(changed) }, changes };
  },
});

export const removeWebhook = defineRoute({
  method: "DELETE",
  path: "/webhook/:name",
  summary: "Delete a webhook; its executions stay",
  needs: "webhook.write",
  action: "webhook.delete",
  status: 204,
  async act(api, { principal, params, base_url, ifMatch }) {
    const row = await requireWebhook(api, principal, params["name"] ?? "");
    requireIn(principal, "webhook.write", projectOf(api, row));
    requireMatch(row, ifMatch);
    await commitNamed(api.store, row.name, [deleteWebhook(api.store, row)]);
    api.executions.queues.limit({ ...row, limits: null, modified_at: Infinity });
    const changes = deletionOf("webhook", await answerWebhook(api, row, base_url));
    return { status: 204, changes };
  },
});

async function toChange(
  api: Api,
  principal: Principal,
  row: WebhookRow,
  body: WebhookChange,
): Promise<Partial<WebhookRow>> {
  const { name, flow, description, project_id, bundle_id, execution_location } = body;
  const given = { name, flow, description, project_id, bundle_id, execution_location };
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(known) as Partial<WebhookRow>),
    ...toMemberColumns(body),
    ...(body.role === undefined ? {} : { role_id: await roleOf(api, principal, body) }),
    ...(body.is_productive === undefined ? {} : { is_productive: Number(body.is_productive) }),
    modified_by: principal.user_id,
    modified_at: nextTime(row),
  };
}

/** @throws RequestError forbidden, naming the endpoint; invalid for a member that is not known */
function refuseGuarded(body: Record<string, unknown>, name: string): void {
  const guarded = Object.keys(body).filter(isGuarded);
  if (guarded.length > 0)
    throw new RequestError(
      "forbidden",
      `${guarded.join(", ")} can be changed only with ` +
        `PUT /api/latest/webhook/${encodeURIComponent(name)}/authentication, ` +
        `which asks for your password again`,
    );
  const known = Object.keys(WEBHOOK_CHANGE.entries);
  const fields = Object.keys(body)
    .filter((member) => !known.includes(member))
    .slice(0, MOST_FIELDS)
    .map((field) => ({ field, message: describeUnknown(field, [...known, ...GUARDED]) }));
  if (fields.length > 0) throw invalidFields(fields);
}

function requireFlow(api: Api, { grants }: Principal, name: string): void {
  if (api.catalog.find(name) !== undefined) return;
  if (!isAllowed(grants, "flow.read")) throw invalid("flow", `there is no flow "${name}"`);
  const known = api.catalog.list().map((flow) => flow.name);
  const told = describeMissing("flow", name, known);
  const list = known.length === 0 ? "PLUGINS_DIR has none" : `Known: ${known.join(", ")}`;
  throw invalid("flow", `there is no ${told.endsWith("?") ? told : `${told}.`} ${list}`);
}

/** New webhooks get the role `webhook`, as far as whoever makes them may give it. */
async function roleOf(
  api: Api,
  principal: Principal,
  body: Pick<WebhookChange, "role">,
): Promise<string | null> {
  if (body.role === null) return null;
  if (body.role !== undefined) return (await requireRole(api.store, principal, body.role)).id;
  const usual = await findRoleByName(api.store, "webhook");
  const isOwn = usual !== undefined && covers(principal.grants, toGrants(usual.permissions));
  return isOwn ? usual.id : null;
}

/** @throws RequestError invalid, or forbidden in the project that it is put in */
async function requirePlace(api: Api, principal: Principal, row: WebhookRow): Promise<void> {
  const { project_id, bundle_id } = row;
  if (project_id !== null && bundle_id !== null)
    throw invalid("bundle_id", "expected a project or a bundle, not both");
  if (project_id !== null && (await findProject(api.store, project_id)) === undefined)
    throw invalid(
      "project_id",
      `there is no project with the id "${project_id}"; GET /api/latest/project shows ids`,
    );
  if (bundle_id !== null && !api.catalog.bundles().some((bundle) => bundle.name === bundle_id))
    throw invalid("bundle_id", `there is no bundle "${bundle_id}"`);
  requireIn(principal, "webhook.write", projectOf(api, row));
}
