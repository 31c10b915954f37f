import { listOf } from "../../shared/contract/list.ts";
import { NEW_SECRET, SECRET, SECRET_CHANGE, type Secret } from "../../shared/contract/secret.ts";
import * as v from "valibot";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { expectUsers } from "../store/webhook-secrets.ts";
import {
  deleteNamed,
  findSecret,
  insertSecret,
  listSecrets,
  updateNamed,
  type SecretRow,
} from "../store/workspace.ts";
import type { Api } from "./api.ts";
import { commitNamed, nextTime, requireMatch, toEtag } from "./named.ts";
import { fromCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { defineRoute } from "./route.ts";
import { requireUnused, requireUsableValue, toRevisions } from "./signature-secrets.ts";

/** A secret as the API shows it: its value cannot be read back. */
function toSecret(row: Omit<SecretRow, "sealed">): Secret {
  return {
    name: row.name,
    created_at: toIso(row.created_at),
    modified_at: toIso(row.modified_at),
  };
}

async function requireSecret(api: Api, name: string): Promise<SecretRow> {
  const row = await findSecret(api.store, name.normalize("NFC"));
  if (row === undefined) throw new RequestError("not_found", `There is no secret "${name}"`);
  return row;
}

export const getSecrets = defineRoute({
  method: "GET",
  path: "/secret",
  summary: "List the names of secrets",
  needs: "secret.write",
  query: v.strictObject({ ...PAGE_QUERY }),
  answer: listOf(SECRET),
  async act(api, { query }) {
    const rows = await listSecrets(api.store, {
      after: fromCursor(query.cursor),
      limit: query.limit + 1,
      descending: query.order === "desc",
    });
    const page = toPage(rows, query.limit, (row) => row.name);
    return { status: 200, body: toList(page, toSecret) };
  },
});

export const getSecret = defineRoute({
  method: "GET",
  path: "/secret/:name",
  summary: "Read when a secret was set; its value cannot be read back",
  needs: "secret.write",
  answer: SECRET,
  async act(api, { params }) {
    const row = await requireSecret(api, params["name"] ?? "");
    return { status: 200, body: toSecret(row), headers: { etag: toEtag(row) } };
  },
});

export const createSecret = defineRoute({
  method: "POST",
  path: "/secret",
  summary: "Create a secret, encrypted at rest",
  needs: "secret.write",
  action: "secret.create",
  body: NEW_SECRET,
  example: { name: "CRM_TOKEN", value: "what flows get" },
  status: 201,
  answer: SECRET,
  async act(api, { body }) {
    const at = now();
    const sealed = api.secrets.seal(body.name, body.value);
    const row: SecretRow = { name: body.name, sealed, created_at: at, modified_at: at };
    await commitNamed(api.store, row.name, [insertSecret(api.store, row)]);
    return { status: 201, body: toSecret(row), headers: { etag: toEtag(row) } };
  },
});

export const patchSecret = defineRoute({
  method: "PATCH",
  path: "/secret/:name",
  summary: "Replace the value of a secret",
  needs: "secret.write",
  action: "secret.change",
  body: SECRET_CHANGE,
  example: { value: "what flows get from now on" },
  answer: SECRET,
  async act(api, { principal, params, body, ifMatch }) {
    const row = await requireSecret(api, params["name"] ?? "");
    requireMatch(row, ifMatch);
    const users = await requireUsableValue(api, principal, row.name, body.value);
    const sealed = api.secrets.seal(row.name, body.value);
    const change = { sealed, modified_at: nextTime(row) };
    const changed: SecretRow = { ...row, ...change };
    await commitNamed(api.store, row.name, [
      updateNamed(api.store, "secret", row, change),
      expectUsers(api.store, row.name, users),
      ...toRevisions(api, row.name, row.sealed, body.value),
    ]);
    return { status: 200, body: toSecret(changed), headers: { etag: toEtag(changed) } };
  },
});

export const removeSecret = defineRoute({
  method: "DELETE",
  path: "/secret/:name",
  summary: "Delete a secret",
  needs: "secret.write",
  action: "secret.delete",
  status: 204,
  async act(api, { principal, params, ifMatch }) {
    const row = await requireSecret(api, params["name"] ?? "");
    requireMatch(row, ifMatch);
    await requireUnused(api, principal, row.name);
    await commitNamed(api.store, row.name, [deleteNamed(api.store, "secret", row)]);
    return { status: 204 };
  },
});
