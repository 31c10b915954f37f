import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { lintDocument, makeTypes } from "./openapi-checks.ts";
import { ADMIN_PASSWORD, openTestService, type TestService } from "./test-service.ts";

const LIST = `import { defineFlow, v } from "flowhook";
const Node = v.object({ label: v.string(), next: v.optional(v.lazy(() => Node)) });
export default defineFlow({ input: v.object({ json: Node }), run() {} });`;

const HOSTILE = `import { defineFlow } from "flowhook";
const json = { type: "text", $id: "http://example.com/", properties: { a: { $ref: "#/$defs/a b" } } };
const schema = { $defs: { "a b": { items: { $ref: "#" } } }, properties: { json, query: true } };
const input = { "~standard": { version: 1, vendor: "x", validate: (value) => ({ value }),
  jsonSchema: { input: () => schema } } };
export default defineFlow({ input, run() {} });`;

let service: TestService;

before(async () => {
  service = await openTestService({ flows: ["echo", "checked"] });
  await writeFile(join(service.directory, "plugins", "list.ts"), LIST);
  await writeFile(join(service.directory, "plugins", "hostile.mjs"), HOSTILE);
  await service.want(200, "POST", "/flow/reload");
  for (const [name, flow] of FLOWS)
    await service.want(201, "POST", "/webhook", { body: { name, flow } });
  await change("checked", { is_enabled: true });
  await change("a {b} é", { is_enabled: true, key: null });
  await change("list", { is_enabled: true, require_login: true });
  await change("hostile", { is_enabled: true, allowed_addresses: ["::1"] });
});

after(() => service[Symbol.asyncDispose]());

const FLOWS = [
  ["checked", "checked"],
  ["a {b} é", "echo"],
  ["list", "list"],
  ["hostile", "hostile"],
  ["disabled", "echo"],
] as const;

function change(name: string, members: object) {
  const body = { ...members, password: ADMIN_PASSWORD };
  return service.want(200, "PUT", `/webhook/${encodeURIComponent(name)}/authentication`, { body });
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: Record<string, Record<string, unknown>>;
  readonly servers: readonly { readonly url: string }[];
}

interface Operation {
  readonly security: readonly object[];
  readonly requestBody?: { readonly required: boolean };
  readonly responses: Record<string, object>;
}

async function documentOf(name: string): Promise<Document> {
  const path = `/webhook/${encodeURIComponent(name)}/openapi.json`;
  return JSON.parse((await service.want(200, "GET", path)).text) as Document;
}

// A flow says nothing of its licence, and not each part of its schema is of use in a document.
const OFF = ["info-license", "no-unused-components"];

for (const [name] of FLOWS) {
  test(`the document of "${name}" is valid, and becomes types`, async () => {
    const document = await documentOf(name);
    assert.deepEqual(await lintDocument(document, OFF), []);
    assert.match(await makeTypes(document), /export interface paths/);
  });
}

test("it says what is sent, what comes back, and what is refused under its settings", async () => {
  const document = await documentOf("checked");
  assert.deepEqual(document.servers, [{ url: `${service.url}/api/latest` }]);
  assert.deepEqual(Object.keys(document.paths), ["/webhook/checked/call"]);
  const { post, get, parameters } = document.paths["/webhook/checked/call"]!;
  const names = (parameters as unknown as { name: string }[]).map(({ name }) => name);
  assert.ok(names.includes("size") && names.includes("async"), names.join());
  assert.equal(post!.requestBody?.required, true);
  assert.equal(get!.requestBody, undefined);
  assert.deepEqual(post!.security, [{ key: [] }, { keyInQuery: [] }]);
  const { schemas } = document.components;
  assert.deepEqual(schemas!["Call.Result"], {
    type: "object",
    properties: { hello: { type: "string" } },
    required: ["hello"],
  });
  const statuses = "200,201,302,303,400,401,404,405,408,413,415,417,429,431,500,503";
  assert.equal(Object.keys(post!.responses).join(), statuses);
  const settings = {
    methods: ["PUT"],
    async_status: 202,
    input_check: "refuse",
    is_productive: false,
  };
  await service.want(200, "PATCH", "/webhook/checked", { body: settings });
  const later = (await documentOf("checked")).paths["/webhook/checked/call"]!;
  assert.deepEqual(Object.keys(later).sort(), ["parameters", "put"]);
  const others = "200,202,302,303,400,401,402,404,405,408,413,415,417,422,431,500,503";
  assert.equal(Object.keys(later["put"]!.responses).join(), others);
  await change("checked", { require_login: true });
  const foreign = (await documentOf("checked")).paths["/webhook/checked/call"]!;
  assert.ok("403" in foreign["put"]!.responses, "a login of a page of another site");
  await change("checked", { require_login: false });
});

test("it says where the idempotency key is sent", async () => {
  const keyOf = async (from: string, more: object = {}) => {
    const body = { idempotency: { from, ...more } };
    await service.want(200, "PATCH", "/webhook/list", { body });
    const document = await documentOf("list");
    assert.deepEqual(await lintDocument(document, OFF), []);
    const { parameters, post } = document.paths["/webhook/list/call"]!;
    assert.ok("Idempotent-Replayed" in (post!.responses[303] as { headers: object }).headers);
    const all = parameters as unknown as { in: string; name: string; required: boolean }[];
    return all.slice(4).map((one) => `${one.in} ${one.name} ${one.required}`);
  };
  const required = { required: true };
  assert.deepEqual(await keyOf("header:Idempotency-Key", required), [
    "header idempotency-key true",
  ]);
  assert.deepEqual(await keyOf("query:order"), ["query order false"]);
  assert.deepEqual(await keyOf("header:prefer"), []);
  assert.deepEqual(await keyOf("json:/id"), []);
  await service.want(200, "PATCH", "/webhook/list", { body: { idempotency: null } });
});

test("it says what is signed, and what has to be sent beside the signature", async () => {
  const body = { name: "sender", value: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" };
  await service.want(201, "POST", "/secret", { body });
  const describe = async (scheme: string, custom: object | null = null, mode = "enforce") => {
    await change("disabled", { signature: { scheme, secrets: ["sender"], custom, mode } });
    const document = await documentOf("disabled");
    assert.deepEqual(await lintDocument(document, OFF), []);
    const all = document.paths["/webhook/disabled/call"]!["parameters"] as unknown as {
      name: string;
      required: boolean;
    }[];
    const described = Object.entries(document.components["securitySchemes"]!)
      .filter(([name]) => name.startsWith("signature-"))
      .map(([, one]) => (one as { description: string }).description);
    return [...described, ...all.flatMap((one) => (one.required ? one.name : []))];
  };
  const by = (scheme: string) => `, by the scheme "${scheme}"`;
  assert.deepEqual(await describe("github"), [`A signature of the body${by("github")}`]);
  assert.deepEqual(await describe("github", null, "observe"), []);
  assert.deepEqual(await describe("gitlab_token"), [`The secret itself${by("gitlab_token")}`]);
  const token = { algorithm: "token", header: "authorization", id_header: "x-id" };
  assert.deepEqual(await describe("custom", token), [`The secret itself${by("custom")}`]);
  assert.deepEqual(await describe("standard_webhooks"), [
    `A signature of {id}.{timestamp}.{body}${by("standard_webhooks")}`,
    "webhook-timestamp",
    "webhook-id",
  ]);
  assert.deepEqual(await describe("slack"), [
    `A signature of v0:{timestamp}:{body}${by("slack")}`,
    "x-slack-request-timestamp",
  ]);
  assert.deepEqual(await describe("stripe"), [`A signature of {timestamp}.{body}${by("stripe")}`]);
  await change("disabled", { signature: null });
});

test("types of a schema that refers to itself lead to it", async () => {
  const types = await makeTypes(await documentOf("list"));
  assert.match(
    types,
    /"Call\.Body": \{\s+label: string;\s+next\?: components\["schemas"\]\["Call\.Input\.\w+"\]/,
  );
});

test("it needs a login that may read the webhook", async () => {
  await service.want(401, "GET", "/webhook/checked/openapi.json", { token: null });
  const token = await service.user("nobody", []);
  await service.want(403, "GET", "/webhook/checked/openapi.json", { token });
  await service.want(404, "GET", "/webhook/nothing/openapi.json");
});

test("the whole document has enabled webhooks for who may read them, and for nobody else", async () => {
  const whole = async (token?: string | null) => {
    const request = token === undefined ? {} : { token };
    return JSON.parse((await service.want(200, "GET", "/openapi.json", request)).text) as Document;
  };
  const bare = await whole(null);
  const named = (document: Document): string[] =>
    Object.keys(document.paths).filter((path) => /^\/webhook\/[^{]+\/call/.test(path));
  assert.deepEqual(named(bare), []);
  assert.deepEqual(await whole("wrong"), bare);
  const token = await service.user("stranger", []);
  assert.deepEqual(await whole(token), bare);
  const full = await whole();
  assert.deepEqual(named(full).sort(), [
    "/webhook/a%20%7Bb%7D%20%C3%A9/call",
    "/webhook/a%20%7Bb%7D%20%C3%A9/call/{sub_path}",
    "/webhook/checked/call",
    "/webhook/hostile/call",
    "/webhook/list/call",
  ]);
  assert.deepEqual(await lintDocument(full, ["no-unused-components"]), []);
  assert.match(await makeTypes(full), /"\/webhook\/checked\/call"/);
  // The third gets a number, with which it would be the second.
  for (const name of ["_", "__6", "é"]) {
    await service.want(201, "POST", "/webhook", { body: { name, flow: "echo" } });
    await change(name, { is_enabled: true });
  }
  assert.deepEqual(await lintDocument(await whole(), ["no-unused-components"]), []);
});
