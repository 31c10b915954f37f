import assert from "node:assert/strict";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import createClient from "openapi-fetch";
import { runProgram } from "../blackbox/command.ts";
import { environment, NODE, ROOT } from "../blackbox/target.ts";
import { ERRORS } from "../../src/shared/contract/error.ts";
import * as v from "valibot";
import { STATUSES } from "../../src/shared/contract/status.ts";
import type { Route } from "../../src/server/api/route.ts";
import { ROUTES } from "../../src/server/api/routes.ts";
import { lintDocument, makeTypes } from "./openapi-checks.ts";
import { ADMIN_PASSWORD, itemsOf, openTestService, type TestService } from "./test-service.ts";

let service: TestService;
let document: { readonly paths: Record<string, Record<string, Operation>>; components: Components };

interface Operation {
  readonly responses: Record<string, { $ref?: string; content?: Record<string, unknown> }>;
  readonly requestBody?: {
    readonly content: Record<string, { schema: Schema; example: unknown }>;
  };
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: unknown;
  }[];
}

interface Schema {
  readonly properties?: Record<string, unknown>;
  readonly required?: readonly string[];
}

interface Components {
  readonly responses: Record<string, { readonly description: string }>;
}

before(async () => {
  service = await openTestService();
  const answer = await fetch(`${service.url}/api/latest/openapi.json`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type")!, /^application\/json/);
  document = (await answer.json()) as typeof document;
});

after(() => service[Symbol.asyncDispose]());

test("the document is valid OpenAPI 3.1", async () => {
  assert.deepEqual(await lintDocument(document), []);
});

test("every route is in it, and every operation is a route or the call", () => {
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((member) => member !== "parameters")
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const calls = described.filter((line) => line.includes("/call"));
  assert.equal(calls.length, 14, "six methods and the preflight, of two paths");
  const routes = ROUTES.map(({ method, path }) => {
    return `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`;
  });
  assert.deepEqual(described.filter((line) => !calls.includes(line)).sort(), routes.sort());
});

test("every success says what it answers, and JSON is no text", () => {
  const operations = Object.entries(document.paths)
    .filter(([path]) => !path.includes("/call"))
    .flatMap(([, item]) => Object.values(item))
    .filter(({ responses }) => responses?.["204"] === undefined);
  assert.ok(operations.length > 40);
  for (const { responses, ...operation } of operations) {
    const { content = {} } = responses["200"] ?? responses["201"]!;
    const [[media, { schema }] = ["none", {}]] = Object.entries(content) as [string, Media][];
    assert.notEqual(media, "none", JSON.stringify(operation));
    if (media === "application/json") assert.notEqual(schema?.["type"], "string");
  }
});

interface Media {
  readonly schema?: Used;
}

test("the documents and what is waited for are as they are described", async () => {
  for (const path of ["/openapi.json", "/webhook/described/openapi.json"]) {
    if (path.includes("described"))
      await service.want(201, "POST", "/webhook", { body: { name: "described", flow: "echo" } });
    await service.want(200, "GET", path);
  }
  await service.want(200, "GET", "/flow/echo/wait-operation");
  await service.want(200, "GET", "/webhook/described/wait-operation");
  const { responses } = document.paths["/{type}/{id}/wait-operation"]!["get"]!;
  const media = responses["200"]!.content!["application/json"] as { schema: { anyOf: unknown[] } };
  assert.ok(JSON.stringify(media.schema.anyOf).includes("#/components/schemas/Execution"));
});

test("every code of the error registry is at its status", () => {
  for (const [code, { status }] of Object.entries(ERRORS))
    assert.ok(document.components.responses[status]?.description.includes(`\`${code}\``), code);
});

test("bodies are described from the schemas that check them", () => {
  const body = document.paths["/webhook"]!["post"]!.requestBody!;
  const { properties, required } = body.content["application/json"]!.schema;
  assert.deepEqual(required, ["name", "flow"]);
  assert.deepEqual(properties?.["execution_location"], {
    type: "string",
    enum: ["webhook", "flow"],
  });
});

test("parameters of queries are described, and are numbers, flags and lists", () => {
  const described = Object.values(document.paths)
    .flatMap((item) => Object.values(item))
    .flatMap(({ parameters = [] }) => parameters)
    .filter((one) => one.in === "query");
  assert.ok(described.length > 40);
  assert.deepEqual(
    described.filter(({ description = "" }) => description === "").map(({ name }) => name),
    [],
  );
  const list = document.paths["/execution"]!["get"]!.parameters!;
  const find = (name: string) => list.find((one) => one.name === name)?.schema;
  assert.deepEqual(find("limit"), { type: "integer", minimum: 1, maximum: 500, default: 50 });
  assert.deepEqual(find("status"), { type: "array", items: { type: "string", enum: STATUSES } });
  const [dryRun] = document.paths["/import"]!["post"]!.parameters!;
  assert.deepEqual(dryRun?.schema, { type: "boolean", default: false });
  const [exported] = document.paths["/export"]!["get"]!.parameters!;
  assert.deepEqual(exported?.schema, { type: "array", items: { type: "string" } });
  const refusals = Object.keys(document.paths["/export"]!["get"]!.responses);
  assert.ok(refusals.includes("404") && refusals.includes("422"));
});

/** What an example names otherwise here. */
function toTried(example: unknown): unknown {
  const text = JSON.stringify(example)
    .replaceAll('"hello"', '"echo"')
    .replace(/"((?:own_|new_)?password)":"[^"]*"/g, `"$1":${JSON.stringify(ADMIN_PASSWORD)}`);
  return JSON.parse(text) as unknown;
}

async function findPlace({ path }: Route): Promise<string> {
  const [, type = ""] = path.split("/");
  const created = ROUTES.find((one) => one.path === `/${type}` && one.method === "POST");
  const { name = "echo" } = (created?.example ?? {}) as { readonly name?: string };
  if (!path.includes(":id")) return path.replace(":name", encodeURIComponent(name));
  // The newest is listed first, and the one that asks here stays.
  if (type === "token") await service.login();
  const { json } = await service.want(200, "GET", `/${type}`);
  return path.replace(":id", String(itemsOf(json)[0]!["id"]));
}

test("each body has an example, which the schema and the service take", async () => {
  for (const route of ROUTES.filter(({ body }) => body !== null)) {
    const { method, path, status, body, example } = route;
    assert.ok(v.is(body as v.GenericSchema, example), `${method} ${path}`);
    const place = await findPlace(route);
    const reply = await service.ask(method, place, { body: toTried(example), password: null });
    assert.equal(reply.status, status, `${method} ${place}: ${reply.text}`);
  }
  const content = document.paths["/import"]!["post"]!.requestBody!.content["application/yaml"]!;
  const text = String(content.example).replaceAll("hello", "echo");
  await service.want(200, "POST", "/import", { text });
});

type Used = Record<string, unknown>;

const TYPED_CLIENT = `
import type { paths } from "./paths.d.ts";

type CreateClient = typeof import("openapi-fetch").default;

export async function use(createClient: CreateClient, baseUrl: string, password: string) {
  const login = await createClient<paths>({ baseUrl }).POST("/auth/login", {
    body: { user_name: "admin", password },
  });
  const token = login.data!.token;
  const client = createClient<paths>({ baseUrl, headers: { "x-service-token": token } });
  const path = { name: "typed" };
  const created = await client.POST("/webhook", { body: { name: "typed", flow: "echo" } });
  const key: string = created.data!.key;
  const enabled = await client.PUT("/webhook/{name}/authentication", {
    params: { path },
    body: { password, is_enabled: true },
  });
  const call = await client.POST("/webhook/{name}/call", {
    params: { path, query: { async: "" } },
    headers: { authorization: \`Bearer \${key}\` },
    body: { hello: "world" },
    parseAs: "text",
  });
  const id = String(call.data);
  await client.GET("/execution/{id}/wait", { params: { path: { id } } });
  const read = await client.GET("/execution/{id}", { params: { path: { id } } });
  const status: "PENDING" | "RUNNING" | "ENDED_SUCCESS" | "ENDED_ERROR" | "ENDED_TIMEOUT" | "ENDED_CANCELLED" =
    read.data!.status;
  const missing = await client.GET("/webhook/{name}", { params: { path: { name: "nothing" } } });
  return { is_enabled: enabled.data!.is_enabled, status, input: read.data!.input_value, problem: missing.error!.title };
}

export function misuse(createClient: CreateClient) {
  // @ts-expect-error a flow is named
  void createClient<paths>().POST("/webhook", { body: { name: "a", flow: 7 } });
  // @ts-expect-error there is no such path
  void createClient<paths>().GET("/nothing");
}
`;

test("a client with the types made from it creates, enables, calls and reads back", async () => {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-openapi-"));
  try {
    await writeFile(join(folder, "paths.d.ts"), await makeTypes(document));
    await writeFile(join(folder, "typed.mts"), TYPED_CLIENT);
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--allowImportingTsExtensions"];
    const modules = ["--module", "nodenext", "--target", "esnext", "--lib", "esnext,dom"];
    const args = [compiler, ...flags, ...modules, "--types", "", "typed.mts"];
    const checked = await runProgram(NODE, args, { cwd: folder, env: environment() });
    assert.equal(checked.stdout + checked.stderr, "");
    const { use } = (await import(join(folder, "typed.mts"))) as {
      use(create: typeof createClient, base_url: string, password: string): Promise<Used>;
    };
    const { input, ...used } = await use(createClient, `${service.url}/api/latest`, ADMIN_PASSWORD);
    const problem = "Not found";
    assert.deepEqual(used, { is_enabled: true, status: "ENDED_SUCCESS", problem });
    assert.deepEqual((input as { json: unknown }).json, { hello: "world" });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("the reference page is made of what the service carries, and nothing else", async () => {
  const base = `${service.url}/api/latest/reference`;
  const page = await fetch(base);
  const html = await page.text();
  const policy = page.headers.get("content-security-policy")!;
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.doesNotMatch(html, /https?:|<style|<script>/);
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
  const [pages, files] = [
    named.filter((file) => file.startsWith("../../ui/")),
    new Set(named.filter((file) => file.startsWith("./reference/"))),
  ];
  assert.ok(pages.length > 0, "a way back to the pages");
  assert.equal(files.size, 5);
  assert.ok(named.every((file) => pages.includes(file) || files.has(file)));
  for (const file of files) {
    const answer = await fetch(new URL(file, base));
    assert.equal(answer.status, 200, file);
    assert.match(answer.headers.get("content-type")!, /^(text\/(css|javascript)|image\/svg\+xml)/);
    assert.equal(answer.headers.get("x-content-type-options"), "nosniff");
    await answer.body?.cancel();
  }
  await service.want(404, "GET", "/reference/nothing.js");
});
