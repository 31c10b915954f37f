import {
  AUDIT_ENTRY,
  type AuditChange,
  type AuditEntry,
} from "../../shared/contract/audit-entry.ts";
import { listOf } from "../../shared/contract/list.ts";
import * as v from "valibot";
import { toIso } from "../../shared/clock.ts";
import { listAudit, type AuditRow } from "../store/workspace.ts";
import { fromNumberCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { resourceName, text } from "./parameters.ts";
import { defineRoute } from "./route.ts";

function toEntry(row: AuditRow): AuditEntry {
  return {
    id: row.seq,
    at: toIso(row.at),
    user_name: row.user_name,
    address: row.address,
    node: row.node,
    action: row.action,
    target: row.target,
    result: row.result,
    members: JSON.parse(row.members) as string[],
    changes: row.changes === null ? [] : (JSON.parse(row.changes) as AuditChange[]),
  };
}

export const getAudit = defineRoute({
  method: "GET",
  path: "/audit",
  summary: "List who changed what, newest first; refused attempts too",
  needs: "audit.read",
  query: v.strictObject({
    limit: PAGE_QUERY.limit,
    cursor: PAGE_QUERY.cursor,
    user_name: resourceName("Name of the user who did it"),
    action: text("As `webhook.create`"),
    target: resourceName("Name or id of what was acted on"),
  }),
  answer: listOf(AUDIT_ENTRY),
  async act(api, { query }) {
    const { limit, cursor, ...filter } = query;
    const before = fromNumberCursor(cursor) ?? null;
    const rows = await listAudit(api.store, { ...filter, before, limit: limit + 1 });
    const page = toPage(rows, limit, (row) => String(row.seq));
    return { status: 200, body: toList(page, toEntry) };
  },
});
