import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { PERMISSIONS } from "../../src/shared/contract/permission.ts";
import { FIRST_ROLES } from "../../src/server/access/permission.ts";
import {
  ADMIN_PASSWORD,
  itemsOf,
  memberOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";

/**
 * Nobody gives, edits or uses a role with a permission that they do not hold (contract, section
 * 2). Each actor has a default role and, so that nothing else stops them, everything that the
 * ways themselves need.
 */

const TOOLS = ["user.write", "role.write", "webhook.*", "execution.*"];

interface Actor {
  readonly role: string;
  readonly token: string;
  readonly may: readonly string[];
}

let service: TestService;
const actors: Actor[] = [];

before(async () => {
  service = await openTestService();
  for (const { name, permissions } of FIRST_ROLES) {
    const may = [...permissions, ...TOOLS];
    await makeRole(`${name}-with-tools`, may);
    const token = await service.user(`the-${name}`, [`${name}-with-tools`]);
    actors.push({ role: name, token, may });
  }
});

after(() => service[Symbol.asyncDispose]());

let made = 0;

function freshName(): string {
  return `made-${(made += 1)}`;
}

async function makeRole(name: string, permissions: readonly string[]): Promise<string> {
  const grants = permissions.map((permission) => ({ permission }));
  await service.want(201, "POST", "/role", { body: { name, permissions: grants } });
  return name;
}

async function makeUser(roles: readonly string[]): Promise<string> {
  const name = freshName();
  await service.want(201, "POST", "/user", { body: { name, password: PASSWORD, roles } });
  return name;
}

async function makeWebhook(role: string | null): Promise<string> {
  const name = freshName();
  await service.want(201, "POST", "/webhook", { body: { name, flow: "echo", role } });
  return name;
}

async function makeExecution(role: string): Promise<string> {
  const name = await makeWebhook(role);
  const body = { password: ADMIN_PASSWORD, is_enabled: true, key: null };
  await service.want(200, "PUT", `/webhook/${name}/authentication`, { body });
  const url = `${service.url}/api/latest/webhook/${name}/call?async`;
  return (await fetch(url, { method: "POST" })).text();
}

function toImport(name: string, role: string): string {
  return `format: flowhook/export/v1\nwebhooks:\n  - { name: ${name}, flow: echo, role: ${role} }\n`;
}

interface Target {
  readonly role: string;
  readonly permissions: readonly { permission: string }[];
}

type Way = (target: Target, token: string) => Promise<number>;

async function status(method: string, path: string, token: string, body: object): Promise<number> {
  return (await service.ask(method, path, { token, body, password: PASSWORD })).status;
}

const WAYS: Readonly<Record<string, Way>> = {
  "making a role": ({ permissions }, token) =>
    status("POST", "/role", token, { name: freshName(), permissions }),
  "giving a role more": async ({ permissions }, token) =>
    status("PATCH", `/role/${await makeRole(freshName(), [])}`, token, { permissions }),
  "making a role that is above propagate": async ({ permissions }, token) => {
    const name = await makeRole(
      freshName(),
      permissions.map(({ permission }) => permission),
    );
    return status("PATCH", `/role/${name}`, token, { propagate: true });
  },
  "taking from a role that is above": async ({ permissions }, token) => {
    const name = await makeRole(
      freshName(),
      permissions.map(({ permission }) => permission),
    );
    return status("PATCH", `/role/${name}`, token, { permissions: [] });
  },
  "deleting a role that is above": async ({ permissions }, token) => {
    const name = await makeRole(
      freshName(),
      permissions.map(({ permission }) => permission),
    );
    return status("DELETE", `/role/${name}`, token, {});
  },
  "making a user": ({ role }, token) =>
    status("POST", "/user", token, { name: freshName(), password: PASSWORD, roles: [role] }),
  "giving a user a role": async ({ role }, token) =>
    status("PATCH", `/user/${await makeUser([])}`, token, { roles: [role] }),
  "becoming a user who is above": async ({ role }, token) =>
    status("PATCH", `/user/${await makeUser([role])}`, token, { password: `${PASSWORD}!` }),
  "disabling a user who is above": async ({ role }, token) =>
    status("PATCH", `/user/${await makeUser([role])}`, token, { is_enabled: false }),
  "deleting a user who is above": async ({ role }, token) => {
    const path = `/user/${await makeUser([role])}`;
    return status("DELETE", path, token, {});
  },
  "ending the login of a user who is above": async ({ role }, token) => {
    const name = await makeUser([role]);
    const own = await service.login(name, PASSWORD);
    const { json } = await service.want(200, "GET", "/token", { token: own });
    return status("DELETE", `/token/${String(itemsOf(json)[0]!["id"])}`, token, {});
  },
  "making a webhook": ({ role }, token) =>
    status("POST", "/webhook", token, { name: freshName(), flow: "echo", role }),
  "giving a webhook a role": async ({ role }, token) =>
    status("PATCH", `/webhook/${await makeWebhook(null)}`, token, { role }),
  "letting a webhook with a role do something else": async ({ role }, token) =>
    status("PATCH", `/webhook/${await makeWebhook(role)}`, token, { flow: "echo" }),
  "enabling a webhook with a role": async ({ role }, token) => {
    const body = { password: PASSWORD, is_enabled: true };
    return status("PUT", `/webhook/${await makeWebhook(role)}/authentication`, token, body);
  },
  "replaying an execution": async ({ role }, token) =>
    status("POST", `/execution/${await makeExecution(role)}/replay`, token, {}),
  "importing a webhook": async ({ role }, token) =>
    (await service.ask("POST", "/import", { token, text: toImport(freshName(), role) })).status,
  "importing over a webhook with a role": async ({ role }, token) => {
    const text = toImport(await makeWebhook(role), "viewer");
    return (await service.ask("POST", "/import?conflicts=replace", { token, text })).status;
  },
};

test("the role admin cannot be changed, and its last enabled user stays", async () => {
  const body = { permissions: [] };
  await service.want(403, "PATCH", "/role/admin", { body });
  await service.want(403, "DELETE", "/role/admin");
  await service.want(409, "PATCH", "/user/admin", { body: { is_enabled: false } });
  await service.want(409, "PATCH", "/user/admin", { body: { roles: [] } });
  await service.want(409, "DELETE", "/user/admin");
});

for (const [way, take] of Object.entries(WAYS)) {
  test(`${way} leads nobody higher`, async () => {
    const errors: string[] = [];
    for (const actor of actors) {
      for (const { name, permissions } of FIRST_ROLES) {
        const target = {
          role: name,
          permissions: permissions.map((permission) => ({ permission })),
        };
        const found = await take(target, actor.token);
        const holds = isHeld(actor.may, permissions) && isAlsoHeld(way, actor.may);
        const isRight = holds ? found >= 200 && found < 300 : found === 403;
        if (!isRight) errors.push(`${actor.role} with "${name}": ${found}`);
      }
    }
    assert.deepEqual(errors, []);
  });
}

/** The last way gives the webhook the role of a viewer, which is to be held as well. */
function isAlsoHeld(way: string, may: readonly string[]): boolean {
  const viewer = FIRST_ROLES.find(({ name }) => name === "viewer")!.permissions;
  return way !== "importing over a webhook with a role" || isHeld(may, viewer);
}

function isHeld(may: readonly string[], wanted: readonly string[]): boolean {
  const held = may.flatMap(expand);
  return wanted.flatMap(expand).every((permission) => held.includes(permission));
}

/** Every single permission of a pattern, and the pattern itself: it will mean later ones too. */
function expand(pattern: string): string[] {
  const prefix = pattern === "*" ? "" : pattern.replace(/\*$/, "");
  const covered = pattern.endsWith("*")
    ? PERMISSIONS.filter((name) => name.startsWith(prefix))
    : [];
  const resources = [...new Set(covered.map((name) => `${name.split(".")[0]}.*`))];
  return [pattern, ...covered, ...(pattern === "*" ? resources : [])];
}

test("a permission for one project is not one for all, or for another", async () => {
  const project = await service.want(201, "POST", "/project", { body: { name: "Own" } });
  const project_id = memberOf(project.json, "id");
  const permissions = [{ permission: "*", project_id }];
  await service.want(201, "POST", "/role", { body: { name: "own", permissions } });
  await service.want(201, "POST", "/role", {
    body: { name: "writer", permissions: [{ permission: "role.write" }, ...permissions] },
  });
  const token = await service.user("writer", ["writer"]);
  const make = (grants: object[]) =>
    status("POST", "/role", token, { name: freshName(), permissions: grants });
  assert.equal(await make([{ permission: "webhook.write", project_id }]), 201);
  assert.equal(await make([{ permission: "webhook.write" }]), 403);
  assert.equal(await make([{ permission: "*", project_id: null }]), 403);
  const other = await service.want(201, "POST", "/project", { body: { name: "Other" } });
  const other_id = memberOf(other.json, "id");
  assert.equal(await make([{ permission: "webhook.write", project_id: other_id }]), 403);
});

test("everything in one project gives nothing that belongs to no project", async () => {
  const token = await service.user("of-one-project", ["own"]);
  for (const path of ["/user", "/role", "/setting", "/secret", "/audit", "/workspace"]) {
    assert.equal((await service.ask("GET", path, { token })).status, 403, path);
  }
  assert.equal((await service.ask("GET", "/token?all=true", { token })).status, 403);
  const setting = { name: "s", value: 1 };
  assert.equal(await status("POST", "/setting", token, setting), 403);
});

test("two administrators who take it from each other at once leave one", async () => {
  await using own = await openTestService();
  const names = ["one", "other"] as const;
  const tokens = await Promise.all(names.map((name) => own.user(name, ["admin"])));
  await own.want(200, "PATCH", "/user/admin", {
    body: { is_enabled: false },
    token: tokens[0]!,
    password: PASSWORD,
  });
  // A new password takes a while to be hashed: both have been checked before either is changed.
  const body = { roles: [], password: PASSWORD };
  const replies = await Promise.all(
    tokens.map((token, at) =>
      own.ask("PATCH", `/user/${names[at === 0 ? 1 : 0]}`, { body, token, password: PASSWORD }),
    ),
  );
  const [ofOne, ofOther] = replies.map(({ status }) => status);
  assert.ok([ofOne, ofOther].includes(200) && [ofOne, ofOther].includes(409));
  const token = await own.login(names[ofOne === 200 ? 0 : 1], PASSWORD);
  const back = { is_enabled: true };
  await own.want(200, "PATCH", "/user/admin", { body: back, token, password: PASSWORD });
});
