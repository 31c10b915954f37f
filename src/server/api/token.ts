import { listOf } from "../../shared/contract/list.ts";
import { ONLY_PASSWORD } from "../../shared/contract/own-password.ts";
import { TOKEN, type Token } from "../../shared/contract/token.ts";
import * as v from "valibot";
import { requirePassword } from "../access/login.ts";
import { isAllowed } from "../access/permission.ts";
import { toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import {
  deleteToken,
  findTokenById,
  findUser,
  listTokens,
  type TokenWithUser,
} from "../store/people.ts";
import { requireNotAbove } from "./access.ts";
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

export const getTokens = defineRoute({
  method: "GET",
  path: "/token",
  summary: "List the own login tokens, or everybody's with all=true",
  needs: "login",
  query: v.strictObject({ all: v.optional(flag("Everybody's, which needs user.write")) }),
  answer: listOf(TOKEN),
  async act(api, { principal, query }) {
    if (query.all === true && !isAllowed(principal.grants, "user.write"))
      throw new RequestError("forbidden", 'This needs the permission "user.write"');
    const rows = await listTokens(api.store, query.all === true ? null : principal.user_id);
    const items = rows.map((row) => toToken(row, principal.tokenId));
    return { status: 200, body: { items, next_cursor: null } };
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
    if (!isOwn) {
      const user = await findUser(api.store, row.user_id);
      if (user !== undefined) await requireNotAbove(api.store, principal, user);
      await requirePassword(api.logins, principal, body.password);
    }
    await api.store.commit([deleteToken(api.store, row.id)]);
    return { status: 204 };
  },
});
