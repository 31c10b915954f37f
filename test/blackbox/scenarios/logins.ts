import assert from "node:assert/strict";
import { follow, resolveLocation, send } from "../client.ts";
import { openGates } from "../gates.ts";
import {
  callTarget,
  countExecutions,
  endedExecution,
  executionId,
  type Group,
  type StoryRow,
} from "../scenario.ts";
import { ADMIN_PASSWORD } from "../service.ts";
import { call, nextUrl } from "./leg.ts";
import { ADMITTED_ROWS, KEY, REFUSED, REFUSED_ROWS, SCREEN_ROWS } from "./login-checks.ts";

const STORY_ROWS: StoryRow[] = [
  {
    name: "the login screen knows the way back",
    covers: ["5.1 login screen"],
    async run(service) {
      const target = callTarget(service, "private", "/a/b%20c?x=1&y=%26");
      const headers = { accept: "text/html" };
      const answer = await send(service.origin, { target, headers });
      const url = resolveLocation(service.origin, target, answer.headers["location"] ?? "");
      assert.equal(url.pathname, "/ui/login");
      assert.equal(url.searchParams.get("next"), target);
      const page = await send(service.origin, { target: url.pathname + url.search, headers });
      assert.equal(page.status, 200);
      assert.match(page.headers["content-type"] ?? "", /^text\/html/);
      assert.match(page.text, /name="?user_name/);
      assert.match(page.text, /name="?password/);
    },
  },
  {
    name: "the way back over the login screen leaves out a key, and nothing that is none",
    covers: ["5.1 login screen", "C5 taken out"],
    async run(service) {
      const query = "?a=1&key=PROJ-17&b=";
      const headers = { accept: "text/html" };
      for (const [name, kept] of [
        ["private", query],
        ["both", "?a=1&b="],
      ] as const) {
        const answer = await send(service.origin, {
          target: callTarget(service, name, query),
          headers,
        });
        const { searchParams } = new URL(answer.headers["location"] ?? "", "http://service.test");
        assert.equal(searchParams.get("next"), callTarget(service, name, kept));
      }
    },
  },
  {
    name: "a token that was logged out is refused",
    covers: ["5.1 refusal"],
    async run(service) {
      const answer = await service.api("POST", "/auth/login", {
        user_name: "admin",
        password: ADMIN_PASSWORD,
      });
      const { token } = answer.body as { token: string };
      const own = { "x-service-token": token };
      const target = callTarget(service, "private", "?async");
      assert.equal((await send(service.origin, { target, headers: own })).status, 201);
      const logout = await service.api("POST", "/auth/logout", undefined, own);
      assert.ok(logout.status < 300, logout.text);
      assert.equal((await send(service.origin, { target, headers: own })).status, 401);
    },
  },
  {
    name: "auth names the user, with id, email and roles",
    covers: ["C18 auth"],
    async run(service) {
      const answer = await follow(service.origin, {
        target: callTarget(service, "private"),
        headers: { "x-service-token": service.token() },
      });
      const { auth } = JSON.parse(answer.text) as { auth: Record<string, unknown> };
      assert.deepEqual(Object.keys(auth).sort(), ["email", "roles", "user_id", "user_name"]);
      assert.match(String(auth["user_id"]), /^[0-9a-f-]{36}$/);
    },
  },
  {
    name: "the login token is checked again on a re-entry",
    covers: ["C8 login again"],
    async run(service) {
      const headers = { "x-service-token": service.token() };
      const first = await send(service.origin, { target: callTarget(service, "private"), headers });
      assert.equal(first.status, 303);
      await endedExecution(service, executionId(first));
      const back = callTarget(service, "private", `?__wait_execution_id=${executionId(first)}`);
      assert.equal((await send(service.origin, { target: back })).status, 401);
      const browser = await send(service.origin, {
        target: back,
        headers: { accept: "text/html" },
      });
      assert.equal(browser.status, 302);
      assert.match(browser.headers["location"] ?? "", /ui\/login\?next=/);
      assert.equal((await send(service.origin, { target: back, headers })).status, 200);
    },
  },
  {
    name: "a leg is followed by the user who called, and by no other",
    covers: ["C8 login again"],
    async run(service) {
      await using gates = await openGates();
      const password = "blackbox-canary-password-of-legs";
      for (const name of ["leg-owner", "leg-other"]) {
        const user = { name, password, roles: [], own_password: ADMIN_PASSWORD };
        const made = await service.api("POST", "/user", user);
        assert.equal(made.status, 201, made.text);
      }
      const own = { headers: { "x-service-token": await service.login("leg-owner", password) } };
      const other = { headers: { "x-service-token": await service.login("leg-other", password) } };
      const first = await call(service, "guarded", `?${gates.query("leg")}`, own);
      await gates.arrived("leg");
      const leg = nextUrl(service, first).search;
      assert.equal((await call(service, "guarded", leg, other)).status, 404);
      gates.open("leg");
      const ended = await endedExecution(service, executionId(first));
      assert.equal(ended["status"], "ENDED_SUCCESS", "and whose leg it is not cancels nothing");
      assert.equal((await call(service, "guarded", leg, other)).status, 404);
      assert.equal((await call(service, "guarded", leg, own)).status, 200);
    },
  },
  {
    name: "the cookie of the login calls a private webhook",
    covers: ["5.1 cookie"],
    async run(service) {
      const answer = await service.api("POST", "/auth/login", {
        user_name: "admin",
        password: ADMIN_PASSWORD,
      });
      const set = answer.headers["set-cookie"] ?? "";
      assert.match(set, /^service-token=[^;]+;/);
      assert.match(set, /HttpOnly/i);
      assert.match(set, /SameSite=Lax/i);
      const cookie = set.split(";")[0] ?? "";
      const target = callTarget(service, "private", "?async");
      const before = await countExecutions(service, "private");
      assert.equal((await send(service.origin, { target, headers: { cookie } })).status, 201);
      assert.equal(await countExecutions(service, "private"), before + 1);
    },
  },
];

const WEBHOOKS: Group["webhooks"] = {
  private: { flow: "echo", require_login: true },
  both: { flow: "echo", require_login: true, key: KEY },
  public: { flow: "echo" },
  guarded: { flow: "gate", require_login: true },
};

export const LOGINS: Group = {
  name: "logins",
  flows: ["echo", "gate"],
  webhooks: WEBHOOKS,
  rows: [...ADMITTED_ROWS, ...REFUSED_ROWS, ...SCREEN_ROWS, ...STORY_ROWS],
};

export const NO_LOGIN_REDIRECT: Group = {
  name: "logins without the redirect",
  config: { LOGIN_REDIRECT: false },
  flows: ["echo", "gate"],
  webhooks: WEBHOOKS,
  rows: [
    {
      name: "a browser without a session is refused",
      covers: ["5.1 refusal"],
      webhook: "private",
      headers: { accept: "text/html" },
      expect: REFUSED,
    },
  ],
};
