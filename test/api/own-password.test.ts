import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  ADMIN_PASSWORD,
  itemsOf,
  memberOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";

/** What gives or takes access is changed only with the own password again. */

let service: TestService;

before(async () => {
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

let made = 0;

interface Change {
  readonly method: string;
  readonly path: string;
  readonly body: object;
  readonly status: number;
  /** The member for the own password. */
  readonly member: "password" | "own_password";
  /** What is read to see whether anything has changed. */
  readonly seen: string;
}

async function makeUser(): Promise<string> {
  const name = `user-${(made += 1)}`;
  await service.user(name, []);
  return name;
}

async function makeRole(): Promise<string> {
  const name = `role-${(made += 1)}`;
  await service.want(201, "POST", "/role", { body: { name, permissions: [] } });
  return name;
}

async function tokenOf(name: string): Promise<string> {
  const { json } = await service.want(200, "GET", "/token?all=true");
  const found = itemsOf(json).find((item) => item["user_name"] === name);
  return String(found?.["id"]);
}

const CHANGES: Readonly<Record<string, () => Promise<Change>>> = {
  "making a user": async () => ({
    method: "POST",
    path: "/user",
    body: { name: `user-${(made += 1)}`, password: PASSWORD, roles: ["admin"] },
    status: 201,
    member: "own_password",
    seen: "/user",
  }),
  "changing a user": async () => {
    const path = `/user/${await makeUser()}`;
    const body = { password: "a new horse battery staple 9", roles: ["admin"] };
    return { method: "PATCH", path, body, status: 200, member: "own_password", seen: path };
  },
  "deleting a user": async () => {
    const path = `/user/${await makeUser()}`;
    return { method: "DELETE", path, body: {}, status: 204, member: "password", seen: path };
  },
  "making a role": async () => ({
    method: "POST",
    path: "/role",
    body: { name: `role-${(made += 1)}`, permissions: [{ permission: "*" }], propagate: true },
    status: 201,
    member: "password",
    seen: "/role",
  }),
  "changing a role": async () => {
    const path = `/role/${await makeRole()}`;
    const body = { permissions: [{ permission: "*" }] };
    return { method: "PATCH", path, body, status: 200, member: "password", seen: path };
  },
  "deleting a role": async () => {
    const path = `/role/${await makeRole()}`;
    return { method: "DELETE", path, body: {}, status: 204, member: "password", seen: path };
  },
  "ending somebody else's login": async () => {
    const path = `/token/${await tokenOf(await makeUser())}`;
    const seen = "/token?all=true";
    return { method: "DELETE", path, body: {}, status: 204, member: "password", seen };
  },
};

for (const [name, prepare] of Object.entries(CHANGES))
  test(`H1: ${name} needs the own password again`, async () => {
    const { method, path, body, status, member, seen } = await prepare();
    const before_it = (await service.want(200, "GET", seen)).text;
    for (const own of [{}, { [member]: "not the password" }, { [member]: "" }]) {
      const refused = await service.want(403, method, path, {
        password: null,
        body: { ...body, ...own },
      });
      assert.equal(refused.code, "wrong_password");
      assert.match(refused.text, new RegExp(`the member \\\\"${member}\\\\"`));
    }
    assert.equal((await service.want(200, "GET", seen)).text, before_it, "nothing has changed");
    await service.want(status, method, path, {
      password: null,
      body: { ...body, [member]: ADMIN_PASSWORD },
    });
    assert.notEqual((await service.ask("GET", seen)).text, before_it);
  });

test("H1: the new user's password is not taken for the own one", async () => {
  const body = { name: "confused", password: ADMIN_PASSWORD };
  const reply = await service.want(403, "POST", "/user", { password: null, body });
  assert.equal(reply.code, "wrong_password");
});

test("H1: the own login tokens are ended without a password", async () => {
  const token = await service.user("owner", []);
  const { json } = await service.want(200, "GET", "/token", { token });
  const [item] = itemsOf(json);
  await service.want(204, "DELETE", `/token/${memberOf(item ?? null, "id")}`, { token });
});

test("L2: who may do more than oneself cannot be logged out", async () => {
  const permissions = [{ permission: "user.write" }];
  await service.want(201, "POST", "/role", { body: { name: "clerk", permissions } });
  const token = await service.user("clerk", ["clerk"]);
  const path = `/token/${await tokenOf("admin")}`;
  const reply = await service.want(403, "DELETE", path, { token, password: PASSWORD });
  assert.equal(reply.code, "forbidden");
  await service.want(200, "GET", "/auth/me");
  const below = `/token/${await tokenOf(await makeUser())}`;
  await service.want(204, "DELETE", below, { token, password: PASSWORD });
});

test("H1: wrong passwords are counted here as well", async () => {
  const token = await service.user("guesser", ["admin"]);
  const guess = () =>
    service.ask("POST", "/role", {
      token,
      password: "a guess",
      body: { name: "x", permissions: [] },
    });
  const replies = await Promise.all(Array.from({ length: 12 }, guess));
  assert.ok(replies.some(({ code }) => code === "too_many_attempts"));
});
