import { dump } from "js-yaml";
import { Refusal } from "../lib/errors.ts";
import { findProject, listRoles } from "../store/people.ts";
import { listWebhooks, type WebhookRow, type Within } from "../store/webhooks.ts";
import type { Api } from "./api.ts";
import { FORMAT, type CarriedWebhook } from "./import-document.ts";
import { defineRoute } from "./route.ts";
import { requireWebhook, withinVisible } from "./webhook-record.ts";

export async function toCarried(api: Api, row: WebhookRow): Promise<CarriedWebhook> {
  const roles = await listRoles(api.store);
  const project = row.project_id === null ? null : await findProject(api.store, row.project_id);
  return {
    name: row.name,
    description: row.description,
    flow: row.flow,
    role: roles.find((role) => role.id === row.role_id)?.name ?? null,
    project: project?.name ?? null,
    execution_location: row.execution_location,
    is_productive: row.is_productive === 1,
  };
}

export const getExport = defineRoute({
  method: "GET",
  path: "/export",
  summary: "Export webhooks as YAML: those named by webhook=, or all",
  needs: "webhook.read",
  type: "application/yaml",
  async act(api, { principal, search }) {
    const names = search.getAll("webhook");
    const unknown = [...search.keys()].filter((name) => name !== "webhook");
    if (unknown.length > 0) throw new Refusal("invalid", `${unknown[0]}: not known`);
    const rows =
      names.length > 0
        ? await Promise.all(names.map((name) => requireWebhook(api, principal, name)))
        : await listAll(api, withinVisible(api, principal));
    const webhooks = await Promise.all(rows.map((row) => toCarried(api, row)));
    return {
      status: 200,
      text: dump({ format: FORMAT, webhooks }),
      headers: {
        "content-type": "application/yaml; charset=utf-8",
        "content-disposition": 'attachment; filename="webhooks.yaml"',
      },
    };
  },
});

async function listAll(api: Api, within: Within | null): Promise<WebhookRow[]> {
  const rows: WebhookRow[] = [];
  for (;;) {
    const page = await listWebhooks(api.store, { within, after: rows.at(-1)?.name, limit: 500 });
    rows.push(...page);
    if (page.length < 500) return rows;
  }
}
