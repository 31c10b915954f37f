import { listOf } from "../../shared/contract/list.ts";
import {
  NEW_PROJECT,
  PROJECT,
  PROJECT_CHANGE,
  type Project,
} from "../../shared/contract/project.ts";
import * as v from "valibot";
import { DEFAULT_PROJECT } from "../access/first-start.ts";
import type { Principal } from "../access/login.ts";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { newId } from "../../shared/id.ts";
import {
  findProjectByName,
  insertProject,
  listPeople,
  updatePeople,
  type ProjectRow,
} from "../store/people.ts";
import { isVisible, requireIn, visibleProjects } from "./access.ts";
import type { Api } from "./api.ts";
import { changesOf, creationOf, deletionOf } from "./audit-changes.ts";
import { removeUnused } from "./in-use.ts";
import { missing, MOST_NAMES, namesOf } from "./missing.ts";
import { commitNamed, nextTime, requireMatch, toEtag } from "./named.ts";
import { fromCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { defineRoute } from "./route.ts";

function toProject(row: ProjectRow): Project {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    created_at: toIso(row.created_at),
    modified_at: toIso(row.modified_at),
  };
}

async function requireProject(api: Api, principal: Principal, name: string): Promise<ProjectRow> {
  const row = await findProjectByName(api.store, name.normalize("NFC"));
  if (row !== undefined && isVisible(principal, "project.read", row.id)) return row;
  const ids = visibleProjects(principal, "project.read");
  const page = { after: undefined, limit: MOST_NAMES, descending: false, ids };
  throw missing("project", name, await namesOf(listPeople(api.store, "project", page)));
}

function refuseDefault(row: ProjectRow): void {
  if (row.name === DEFAULT_PROJECT)
    throw new RequestError(
      "conflict",
      `The project "${DEFAULT_PROJECT}" always exists under this name`,
    );
}

export const getProjects = defineRoute({
  method: "GET",
  path: "/project",
  summary: "List projects by name",
  needs: "project.read",
  query: v.strictObject({ ...PAGE_QUERY }),
  answer: listOf(PROJECT),
  async act(api, { principal, query }) {
    const rows = await listPeople(api.store, "project", {
      after: fromCursor(query.cursor),
      limit: query.limit + 1,
      descending: query.order === "desc",
      ids: visibleProjects(principal, "project.read"),
    });
    const page = toPage(rows, query.limit, (row) => row.name);
    return { status: 200, body: toList(page, toProject) };
  },
});

export const getProject = defineRoute({
  method: "GET",
  path: "/project/:name",
  summary: "Read one project",
  needs: "project.read",
  answer: PROJECT,
  async act(api, { principal, params }) {
    const row = await requireProject(api, principal, params["name"] ?? "");
    return { status: 200, body: toProject(row), headers: { etag: toEtag(row) } };
  },
});

export const createProject = defineRoute({
  method: "POST",
  path: "/project",
  summary: "Create a project",
  needs: "project.write",
  action: "project.create",
  body: NEW_PROJECT,
  example: { name: "billing", description: "What the accountants use" },
  status: 201,
  answer: PROJECT,
  async act(api, { principal, body }) {
    const at = now();
    const row: ProjectRow = { id: newId(), ...body, created_at: at, modified_at: at };
    // Whoever may write in some projects only cannot make others.
    requireIn(principal, "project.write", row.id);
    await commitNamed(api.store, row.name, [insertProject(api.store, row)]);
    const made = toProject(row);
    const changes = creationOf("project", body, made);
    return { status: 201, body: made, headers: { etag: toEtag(row) }, changes };
  },
});

export const patchProject = defineRoute({
  method: "PATCH",
  path: "/project/:name",
  summary: "Change a project",
  needs: "project.write",
  action: "project.change",
  body: PROJECT_CHANGE,
  example: { description: "Invoices and payments" },
  answer: PROJECT,
  async act(api, { principal, params, body, ifMatch }) {
    const row = await requireProject(api, principal, params["name"] ?? "");
    requireIn(principal, "project.write", row.id);
    requireMatch(row, ifMatch);
    if (body.name !== undefined && body.name !== row.name) refuseDefault(row);
    const changed: ProjectRow = {
      ...row,
      name: body.name ?? row.name,
      description: body.description ?? row.description,
      modified_at: nextTime(row),
    };
    const { id: _id, ...change } = changed;
    const unit = [updatePeople(api.store, "project", row, change)];
    await commitNamed(api.store, changed.name, unit);
    const answer = toProject(changed);
    const changes = changesOf("project", toProject(row), answer);
    return { status: 200, body: answer, headers: { etag: toEtag(changed) }, changes };
  },
});

export const removeProject = defineRoute({
  method: "DELETE",
  path: "/project/:name",
  summary: "Delete a project that no webhook is in; its executions keep its id",
  needs: "project.write",
  action: "project.delete",
  status: 204,
  async act(api, { principal, params, ifMatch }) {
    const row = await requireProject(api, principal, params["name"] ?? "");
    requireIn(principal, "project.write", row.id);
    requireMatch(row, ifMatch);
    refuseDefault(row);
    await removeUnused(api, principal, "project", row);
    return { status: 204, changes: deletionOf("project", toProject(row)) };
  },
});
