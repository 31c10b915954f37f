import { CREDENTIALS, LOGIN, ME, type LoggedIn } from "../../shared/contract/login.ts";
import { toTokenCookie } from "../access/credentials.ts";
import type { Principal } from "../access/login.ts";
import { now, toIso } from "../../shared/clock.ts";
import { RequestError } from "../../shared/errors.ts";
import { defineRoute } from "./route.ts";

function toUser({ user_id, user_name, email, roles }: Principal): LoggedIn {
  return { id: user_id, name: user_name, email, roles };
}

export const login = defineRoute({
  method: "POST",
  path: "/auth/login",
  summary: "Get a login token, as a member and as a cookie",
  needs: "anyone",
  action: "auth.login",
  body: CREDENTIALS,
  example: { user_name: "admin", password: "correct horse battery staple" },
  answer: LOGIN,
  async act(api, { body: { user_name, password }, address, isSecure, outgoing }) {
    const isWanted = () => !outgoing.destroyed;
    const found = await api.logins.login(user_name.normalize("NFC"), password, address, isWanted);
    if (found === null)
      throw new RequestError("not_authenticated", "The user name or the password is wrong");
    const { token, expires_at, principal } = found;
    const maxAgeSec = Math.floor((expires_at - now()) / 1000);
    const cookie = toTokenCookie(token, { path: `${api.prefix}/`, maxAgeSec, isSecure });
    return {
      status: 200,
      body: { token, expires_at: toIso(expires_at), user: toUser(principal) },
      headers: { "set-cookie": cookie },
    };
  },
});

export const logout = defineRoute({
  method: "POST",
  path: "/auth/logout",
  summary: "End the token that the request carries",
  needs: "login",
  action: "auth.logout",
  status: 204,
  async act(api, { principal, isSecure }) {
    await api.logins.logout(principal.tokenId);
    const cookie = toTokenCookie("", { path: `${api.prefix}/`, maxAgeSec: 0, isSecure });
    return { status: 204, headers: { "set-cookie": cookie }, target: principal.user_name };
  },
});

export const getMe = defineRoute({
  method: "GET",
  path: "/auth/me",
  summary: "Who am I, and what do my roles allow",
  needs: "login",
  answer: ME,
  async act(_api, { principal }) {
    return { status: 200, body: { ...toUser(principal), permissions: principal.grants } };
  },
});
