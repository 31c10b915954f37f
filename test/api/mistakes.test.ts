import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { MISTAKES, type Mistake } from "./mistakes.ts";
import { memberOf, openTestService, type TestService } from "./test-service.ts";

let service: TestService;

before(async () => {
  service = await openTestService();
  await service.want(201, "POST", "/role", { body: { name: "shared", permissions: [] } });
  const body = { name: "orders", flow: "echo", role: "shared" };
  await service.want(201, "POST", "/webhook", { body });
});

after(() => service[Symbol.asyncDispose]());

test("there are at least 60, each another one", () => {
  const asked = MISTAKES.map((one) => `${toText(one)} ${JSON.stringify(one.headers)} ${one.token}`);
  assert.equal(new Set(asked).size, asked.length);
  assert.ok(asked.length >= 60);
});

for (const [at, mistake] of MISTAKES.entries())
  test(`mistake ${at + 1}: ${mistake.method} ${mistake.path}`, async () => {
    const { method, path, status, says, hides = [], ...request } = mistake;
    const reply = await service.ask(method, path, request);
    const detail = memberOf(reply.json, "detail");
    if (process.env["SHOW_MISTAKES"])
      console.log(`${toText(mistake)}\n    ${reply.status} ${detail}`);
    assert.equal(reply.status, status, reply.text);
    for (const part of says) assert.ok(detail.includes(part), `${part}\nis not in\n${detail}`);
    for (const part of hides) assert.ok(!reply.text.includes(part), reply.text);
    assert.doesNotMatch(reply.text, /undefined|\[object|Invalid (type|key|length)/);
  });

function toText({ method, path, body, text }: Mistake): string {
  return `${method} ${path} ${body === undefined ? (text ?? "") : JSON.stringify(body)}`;
}
