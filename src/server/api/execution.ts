import { EXECUTION, EXECUTION_SUMMARY, LOG_LINE } from "../../shared/contract/execution.ts";
import { listOf } from "../../shared/contract/list.ts";
import * as v from "valibot";
import type { Principal } from "../access/login.ts";
import { toRecordText, toSummary } from "../executions/record.ts";
import { STATUSES } from "../../shared/contract/status.ts";
import { toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { isId } from "../../shared/id.ts";
import { listExecutions, listLog } from "../store/execution-lists.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { findExecution, findPayload, type LogRow } from "../store/executions.ts";
import { findRole, listRoles } from "../store/people.ts";
import { isVisible, visibleProjects } from "./access.ts";
import type { Api } from "./api.ts";
import { fromIdCursor, fromNumberCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { executionId, listOfValues, resourceName, searched, text, time } from "./parameters.ts";
import { findRoleId, findUserId } from "./filter-names.ts";
import { defineRoute } from "./route.ts";

/** @throws RequestError not_found, also where the principal may not see it */
export async function requireExecution(
  api: Api,
  principal: Principal,
  id: string,
): Promise<ExecutionRow> {
  const row = await findExecution(api.store, id);
  if (row !== undefined && isVisible(principal, "execution.read", row.project_id)) return row;
  const advice = isId(id) ? "" : ": expected an id, as GET /api/latest/execution lists them";
  throw new RequestError("not_found", `There is no execution "${id}"${advice}`);
}

export async function answerExecution(api: Api, row: ExecutionRow): Promise<string> {
  const role = row.role_id === null ? undefined : await findRole(api.store, row.role_id);
  return toRecordText(row, await findPayload(api.store, row.id), role?.name ?? null);
}

export const getExecutions = defineRoute({
  method: "GET",
  path: "/execution",
  summary: "List executions, newest first",
  needs: "execution.read",
  query: v.strictObject({
    ...PAGE_QUERY,
    status: listOfValues(STATUSES, "One status, or several joined by commas"),
    webhook: resourceName("Name of the webhook that was called"),
    flow: resourceName("Name of the flow"),
    project_id: text("Id of the project"),
    parent_id: executionId("The execution that started them"),
    replay_of: executionId("The execution that they run again"),
    role: text("Name of the role that they have"),
    created_by: text("Id or name of the user who started them"),
    from: time("Created from this time on"),
    to: time("Created before this time"),
    text: searched("What the status message contains, in any case"),
  }),
  answer: listOf(EXECUTION_SUMMARY),
  async act(api, { principal, query }) {
    const { limit, cursor, order, status: statuses, role, created_by, ...filter } = query;
    const rows = await listExecutions(api.store, {
      ...filter,
      statuses,
      role_id: role === undefined ? undefined : await findRoleId(api, principal, role),
      created_by:
        created_by === undefined ? undefined : await findUserId(api, principal, created_by),
      projectIds: visibleProjects(principal, "execution.read"),
      after: fromIdCursor(cursor),
      ascending: order === "asc",
      limit: limit + 1,
    });
    const roles = new Map((await listRoles(api.store)).map((role) => [role.id, role.name]));
    const page = toPage(rows, limit, (row) => row.id);
    const toItem = (row: ExecutionRow) => toSummary(row, roles.get(row.role_id ?? "") ?? null);
    return { status: 200, body: toList(page, toItem) };
  },
});

export const getExecution = defineRoute({
  method: "GET",
  path: "/execution/:id",
  summary: "Read one execution, with input, output and response",
  needs: "execution.read",
  answer: EXECUTION,
  async act(api, { principal, params }) {
    const row = await requireExecution(api, principal, params["id"] ?? "");
    return { status: 200, text: await answerExecution(api, row) };
  },
});

export const getLog = defineRoute({
  method: "GET",
  path: "/execution/:id/log",
  summary: "Read the log lines of an execution, oldest first",
  needs: "execution.read",
  query: v.strictObject({ limit: PAGE_QUERY.limit, cursor: PAGE_QUERY.cursor }),
  answer: listOf(LOG_LINE),
  async act(api, { principal, params, query }) {
    const { id } = await requireExecution(api, principal, params["id"] ?? "");
    const after = fromNumberCursor(query.cursor) ?? 0;
    const rows = await listLog(api.store, id, { after, limit: query.limit + 1 });
    const page = toPage(rows, query.limit, (row) => String(row.seq));
    const toLine = ({ at, level, text }: LogRow) => ({ at: toIso(at), level, text });
    return { status: 200, body: toList(page, toLine) };
  },
});
