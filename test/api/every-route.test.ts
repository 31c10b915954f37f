import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PERMISSIONS } from "../../src/shared/contract/permission.ts";
import { FIRST_ROLES } from "../../src/server/access/permission.ts";
import type { Route } from "../../src/server/api/route.ts";
import { ROUTES } from "../../src/server/api/routes.ts";
import {
  ADMIN_PASSWORD,
  itemsOf,
  openTestService,
  PASSWORD,
  type TestService,
} from "./test-service.ts";
import { openPlace, toSample, type Asker, type Place } from "./samples.ts";

/**
 * Every route x every default role, for all projects and for one, and nobody x a place of their
 * own and a foreign one. What must come back is stated here once more, from the contract's words
 * and not from the code that decides.
 */

interface Actor extends Asker {
  /** Permissions of the role; null: no login. */
  readonly may: readonly string[] | null;
  /** The only project that they hold for. */
  readonly only: string | null;
}

let service: TestService;
let own: Place;
let foreign: Place;
const actors: Actor[] = [];

before(async () => {
  service = await openTestService();
  await openBundle(service);
  own = await openPlace(service, "Own");
  foreign = await openPlace(service, "Foreign");
  actors.push({ name: "nobody", token: null, password: "", may: null, only: null });
  for (const { name: role, permissions } of FIRST_ROLES) {
    actors.push(await makeActor(role, role, permissions, null));
    const limited = `${role}-of-own`;
    const grants = permissions.map((permission) => ({ permission, project_id: own.id }));
    await service.want(201, "POST", "/role", { body: { name: limited, permissions: grants } });
    actors.push(await makeActor(limited, limited, permissions, own.id));
  }
  await service.want(201, "POST", "/role", { body: { name: "empty", permissions: [] } });
  actors.push(await makeActor("without", "empty", [], null));
});

after(() => service[Symbol.asyncDispose]());

async function openBundle({ directory }: TestService): Promise<void> {
  const folder = join(directory, "plugins/billing");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "bundle.yaml"), "name: billing\n");
  await service.want(200, "POST", "/flow/reload");
}

async function makeActor(
  name: string,
  role: string,
  may: readonly string[],
  only: string | null,
): Promise<Actor> {
  const token = await service.user(`the-${name}`, [role]);
  return { name: `the-${name}`, token, password: PASSWORD, may, only };
}

test("each route that changes something is declared: what it needs, and its audit's action", () => {
  const silent = ROUTES.filter(({ method, action }) => method !== "GET" && action === null);
  assert.deepEqual(
    silent.map(({ method, path }) => `${method} ${path}`),
    ["POST /workspace/activity"],
  );
  const known = ["login", "anyone", ...PERMISSIONS];
  for (const { path, needs } of ROUTES) assert.ok(known.includes(needs), `${path}: "${needs}"`);
  const open = ROUTES.filter(({ needs }) => needs === "anyone");
  assert.deepEqual(
    open.map(({ path }) => path),
    ["/openapi.json", "/reference", "/reference/:file", "/auth/login"],
  );
});

for (const route of ROUTES) {
  test(`${route.method} ${route.path} obeys every role, here and elsewhere`, async () => {
    const errors: string[] = [];
    for (const actor of actors) {
      for (const place of [own, foreign]) {
        const token = await tokenOf(route, actor);
        const { path, ...request } = await toSample(service, route, place, actor);
        const { status } = await service.ask(route.method, path, { ...request, token });
        const wanted = expected(route, actor, place);
        if (!wanted.includes(status))
          errors.push(`${actor.name} in ${place.name}: ${status}, expected ${wanted.join()}`);
      }
    }
    assert.deepEqual(errors, []);
  });
}

for (const route of ROUTES) {
  test(`${route.method} ${route.path} answers to no parameter or member that it does not know`, async () => {
    const asker = { name: "admin", token: await service.login(), password: ADMIN_PASSWORD };
    const { path, ...request } = await toSample(service, route, own, asker);
    const given = { ...request, token: asker.token };
    const isDocument = /^\/reference|openapi\.json$/.test(route.path);
    const asked = `${path}?unknown_one=1`;
    const { text } = await service.want(isDocument ? 200 : 422, route.method, asked, given);
    if (isDocument) return;
    assert.match(text, /unknown_one: unknown/);
    if (route.method === "GET" || route.path === "/import") return;
    const body = { ...(request.body as object | undefined), unknown_one: 1 };
    const refused = await service.want(422, route.method, path, { ...given, body });
    assert.match(refused.text, /unknown_one: unknown/);
    if (route.body !== null) return;
    const { status } = await service.ask(route.method, path, { ...given, body: {} });
    const done = SUCCESSES[`${route.method} ${route.path}`] ?? [route.status];
    assert.ok(done.includes(status), `{}: ${status}`);
  });
}

/** A token that may be ended is one of its own. */
async function tokenOf({ path }: Route, { name, token, password }: Actor): Promise<string | null> {
  return path === "/auth/logout" && token !== null ? service.login(name, password) : token;
}

function expected(route: Route, actor: Actor, place: Place): readonly number[] {
  const { path, method } = route;
  const done = SUCCESSES[`${method} ${path}`] ?? [route.status];
  if (path === "/auth/login" && actor.token === null) return [401];
  if (route.needs === "anyone") return done;
  if (actor.may === null) return [401];
  const needs = path.startsWith("/:type") ? "webhook.read" : route.needs;
  if (needs === "login") return done;
  if (!holds(actor, needs)) return [403];
  const isHere = actor.only === null || actor.only === place.id;
  if (!isOfProjects(needs) && actor.only !== null) return [403];
  // A flow is started, and a project made, outside of any one project.
  if (NEEDS_ALL.includes(`${method} ${path}`)) return actor.only === null ? done : [403];
  if (/^\/(webhook|execution|project|:type)\/:/.test(path)) {
    const [type = ""] = needs.split(".");
    if (!isHere || !holds(actor, `${type}.read`)) return [404];
    if (method === "DELETE" && type === "project") return actor.only === null ? done : [404];
  }
  if (isHere || isFiltered(route)) return done;
  // It names the project: one that cannot be seen is one that is not here.
  return path === "/import" ? [422] : [403];
}

/** What is elsewhere is left out of it. */
function isFiltered({ method, path }: Route): boolean {
  return method === "GET" || path === "/execution/cancel";
}

function holds({ may }: Actor, permission: string): boolean {
  const resource = `${permission.split(".")[0]}.*`;
  return may?.some((held) => ["*", resource, permission].includes(held)) ?? false;
}

function isOfProjects(permission: string): boolean {
  const [resource = ""] = permission.split(".");
  const isCatalogue = ["flow.read", "bundle.read"].includes(permission);
  return isCatalogue || ["webhook", "execution", "project"].includes(resource);
}

const NEEDS_ALL = ["POST /flow/:name/execution", "POST /project"];

/** Where a success is another status than the route's: the execution of the place has ended. */
const SUCCESSES: Readonly<Record<string, readonly number[]>> = {
  "POST /execution/:id/cancel": [409],
};

test("lists show what is in one's own projects, page by page without gaps", async () => {
  const token = actors.find(({ name }) => name === "the-viewer-of-own")!.token;
  for (const path of ["/webhook?limit=1", "/execution?limit=1", "/project?limit=1"]) {
    const { json } = await service.want(200, "GET", path, { token });
    assert.equal(itemsOf(json).length, 1, path);
    assert.ok(isIn(itemsOf(json)[0]!, own), path);
  }
  const { json } = await service.want(200, "GET", "/webhook", { token });
  const items = itemsOf(json);
  assert.ok(items.length > 0 && items.every((item) => isIn(item, own)));
  const exported = await service.want(200, "GET", "/export", { token });
  assert.ok(exported.text.includes(own.webhook) && !exported.text.includes(foreign.webhook));
});

test("bundles are listed page by page, in both orders", async () => {
  for (const name of ["aaa", "zzz"]) {
    const folder = join(service.directory, "plugins", `of-${name}`);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "bundle.yaml"), `name: ${name}\n`);
  }
  await service.want(200, "POST", "/flow/reload");
  const names = ["aaa", "billing", "zzz"];
  for (const [order, all] of [
    ["asc", names],
    ["desc", names.toReversed()],
  ] as const) {
    const found: unknown[] = [];
    let cursor = "";
    do {
      const query = `?limit=1&order=${order}&cursor=${cursor}`;
      const { json } = await service.want(200, "GET", `/bundle${query}`);
      assert.equal(itemsOf(json).length, 1);
      found.push(itemsOf(json)[0]!["name"]);
      cursor = (json as { next_cursor: string | null }).next_cursor ?? "";
    } while (cursor !== "");
    assert.deepEqual(found, all);
  }
});

function isIn(item: { [name: string]: unknown }, place: Place): boolean {
  return item["project_id"] === place.id || item["id"] === place.id;
}
