import type { Route } from "../../src/server/api/route.ts";
import { endedExecution } from "./running.ts";
import {
  ADMIN_PASSWORD,
  itemsOf,
  memberOf,
  PASSWORD,
  type TestService,
  type Request,
} from "./test-service.ts";

/** A project with one of everything that is in projects, made by the administrator. */
export interface Place {
  readonly name: string;
  readonly id: string;
  readonly webhook: string;
  /** An execution of that webhook, which has ended. */
  readonly execution: string;
}

export interface Sample extends Request {
  readonly path: string;
}

export async function openPlace(service: TestService, name: string): Promise<Place> {
  const { json } = await service.want(201, "POST", "/project", { body: { name } });
  const id = memberOf(json, "id");
  const webhook = `hook-of-${name}`;
  await makeWebhook(service, webhook, id);
  return { name, id, webhook, execution: await runWebhook(service, webhook) };
}

async function makeWebhook(service: TestService, name: string, project_id: string): Promise<void> {
  const body = { name, flow: "echo", project_id, role: null };
  await service.want(201, "POST", "/webhook", { body });
  const enabled = { password: ADMIN_PASSWORD, is_enabled: true, key: null };
  await service.want(200, "PUT", `/webhook/${name}/authentication`, { body: enabled });
}

async function runWebhook(service: TestService, name: string): Promise<string> {
  const url = `${service.url}/api/latest/webhook/${name}/call?async`;
  const id = await (await fetch(url, { method: "POST" })).text();
  await endedExecution(service, id);
  return id;
}

/** Whoever asks: a token of theirs that a sample may end, and their password. */
export interface Asker {
  readonly name: string;
  readonly token: string | null;
  readonly password: string;
}

let made = 0;

/** A valid request of a route, about something in a place; what it would destroy is made anew. */
export async function toSample(
  service: TestService,
  route: Route,
  place: Place,
  asker: Asker,
): Promise<Sample> {
  const key = `${route.method} ${route.path}`;
  const path = await fillPath(service, route, place, asker);
  const body = SAMPLES[key]?.(place, asker, `made-${(made += 1)}`);
  if (route.body !== null && body === undefined) throw new Error(`Give "${key}" a sample body`);
  if (key === "POST /import") return { path, text: toImport(place) };
  return body === undefined ? { path } : { path, body };
}

function toImport({ name }: Place): string {
  const webhook = `{ name: imported-${(made += 1)}, flow: echo, project: ${name} }`;
  return `format: flowhook/export/v1\nwebhooks:\n  - ${webhook}\n`;
}

async function fillPath(
  service: TestService,
  route: Route,
  place: Place,
  asker: Asker,
): Promise<string> {
  const { path, method } = route;
  const [, type = ""] = path.split("/");
  if (!path.includes(":")) return path;
  if (type === ":type") return `/webhook/${place.webhook}/wait-operation`;
  const named = path
    .replace(":name", await nameFor(service, type, method, place))
    .replace(":version", await versionOf(service));
  if (!named.includes(":")) return named;
  if (type === "token") return named.replace(":id", await tokenFor(service, asker));
  return named.replace(":id", place.execution).replace(":file", "swagger-ui.css");
}

async function versionOf(service: TestService): Promise<string> {
  return memberOf((await service.want(200, "GET", "/flow/echo")).json, "version");
}

async function nameFor(
  service: TestService,
  type: string,
  method: string,
  place: Place,
): Promise<string> {
  const isDestroyed = method === "DELETE";
  const name = `${type}-${(made += 1)}`;
  const make = async (body: object): Promise<string> => {
    await service.want(201, "POST", `/${type}`, { body: { name, ...body } });
    return name;
  };
  if (type === "flow") return "echo";
  if (type === "bundle") return "billing";
  if (type === "project") {
    if (!isDestroyed) return place.name;
    // A project that was made just now is in nobody's own: its deletion needs them all.
    return make({});
  }
  if (type === "webhook") {
    if (!isDestroyed) return place.webhook;
    await makeWebhook(service, name, place.id);
    return name;
  }
  if (type === "setting") return make({ value: 1 });
  if (type === "secret") return make({ value: "a secret of a test" });
  if (type === "role") return make({ permissions: [] });
  if (type === "user") return make({ password: PASSWORD });
  return "nothing";
}

/** One more login of the asker, to be ended. */
async function tokenFor(service: TestService, { name, password, token }: Asker): Promise<string> {
  if (token === null) return "nothing";
  const more = await service.login(name, password);
  const { json } = await service.want(200, "GET", "/token", { token: more });
  const found = itemsOf(json).find((item) => item["is_current"] === true);
  return String(found?.["id"]);
}

type MakeBody = (place: Place, asker: Asker, name: string) => object;

/** A valid body for each route that has one. */
const SAMPLES: Readonly<Record<string, MakeBody>> = {
  "POST /auth/login": (_, { name, password }) => ({ user_name: name, password }),
  "PUT /auth/password": (_, { password }) => ({ password, new_password: password }),
  "POST /webhook": ({ id }, _, name) => ({ name, flow: "echo", project_id: id, role: null }),
  "PATCH /webhook/:name": () => ({ description: "changed" }),
  "PUT /webhook/:name/authentication": (_, { password }) => ({ password, is_enabled: true }),
  "POST /flow/:name/execution": () => ({ input_value: { a: 1 } }),
  "POST /execution/cancel": () => ({ filter: { flow: "nothing" } }),
  "POST /execution/:id/replay": () => ({}),
  "POST /project": (_, __, name) => ({ name }),
  "PATCH /project/:name": () => ({ description: "changed" }),
  "POST /role": (_, { password }, name) => ({ name, permissions: [], password }),
  "PATCH /role/:name": (_, { password }) => ({ propagate: true, password }),
  "DELETE /role/:name": (_, { password }) => ({ password }),
  "POST /user": (_, { password }, name) => ({ name, password: PASSWORD, own_password: password }),
  "PATCH /user/:name": (_, { password }) => ({
    email: "somebody@example.org",
    own_password: password,
  }),
  "DELETE /user/:name": (_, { password }) => ({ password }),
  "DELETE /token/:id": () => ({}),
  "POST /setting": (_, __, name) => ({ name, value: [1] }),
  "PATCH /setting/:name": () => ({ value: 2 }),
  "POST /secret": (_, __, name) => ({ name, value: "another secret of a test" }),
  "PATCH /secret/:name": () => ({ value: "another secret of a test" }),
};
