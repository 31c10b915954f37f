import { listOf } from "../../shared/contract/list.ts";
import { ONLY_PASSWORD } from "../../shared/contract/own-password.ts";
import { TOKEN, type Token } from "../../shared/contract/token.ts";
import * as v from "valibot";
import { requirePassword } from "../access/login.ts";
import { isAllowed } from "../access/permission.ts";
import { toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { isId } from "../../shared/id.ts";
import { findUser } from "../store/people.ts";
import {
  deleteToken,
  findTokenById,
  listTokens,
  type TokenPlace,
  type TokenWithUser,
} from "../store/tokens.ts";
import { requireNotAbove } from "./access.ts";
import { fromCursor, PAGE_QUERY, refuseCursor, toList, toPage } from "./page.ts";
import { flag } from "./parameters.ts";
import { defineRoute } from "./route.ts";

function toToken(row: TokenWithUser, ownId: string): Token {
  return {
    id: row.id,
    user_name: row.user_name,
    is_current: row.id === ownId,
    created_at: toIso(row.created_at),
    expires_at: toIso(row.expires_at),
    last_used_at: toIso(row.last_used_at),
    last_used_from: row.last_used_from,
  };
}

/** @throws RequestError invalid */
function toPlace(cursor: string | undefined): TokenPlace | undefined {
  const key = fromCursor(cursor);
  if (key === undefined) return undefined;
  const [created_at = "", id = ""] = key.split(" ");
  if (!/^\d{1,15}$/.test(created_at) || !isId(id)) throw refuseCursor(cursor);
  return { created_at: Number(created_at), id };
}

export const getTokens = defineRoute({
  method: "GET",
  path: "/token",
  summary: "List the own login tokens, or everybody's with all=true, newest first",
  needs: "login",
  query: v.strictObject({
    ...PAGE_QUERY,
    all: v.optional(flag("Everybody's, which needs user.write")),
  }),
  answer: listOf(TOKEN),
  async act(api, { principal, query }) {
    if (query.all === true && !isAllowed(principal.grants, "user.write"))
      throw new RequestError("forbidden", 'This needs the permission "user.write"');
    const rows = await listTokens(api.store, {
      user_id: query.all === true ? null : principal.user_id,
      after: toPlace(query.cursor),
      limit: query.limit + 1,
      ascending: query.order === "asc",
    });
    const page = toPage(rows, query.limit, ({ created_at, id }) => `${created_at} ${id}`);
    return { status: 200, body: toList(page, (row) => toToken(row, principal.tokenId)) };
  },
});

export const removeToken = defineRoute({
  method: "DELETE",
  path: "/token/:id",
  summary: "End a login token; somebody else's with your own password again",
  needs: "login",
  action: "token.delete",
  body: ONLY_PASSWORD,
  example: { password: "your own password" },
  status: 204,
  async act(api, { principal, params, body }) {
    const row = await findTokenById(api.store, params["id"] ?? "");
    const isOwn = row?.user_id === principal.user_id;
    if (row === undefined || !(isOwn || isAllowed(principal.grants, "user.write")))
      throw new RequestError("not_found", `There is no login token "${params["id"]}"`);
    const user = await findUser(api.store, row.user_id);
    if (!isOwn) {
      if (user !== undefined) await requireNotAbove(api.store, principal, user);
      await requirePassword(api.logins, principal, body.password);
    }
    await api.store.commit([deleteToken(api.store, row.id)]);
    const target = user?.name;
    return { status: 204, ...(target === undefined ? {} : { target }) };
  },
});
