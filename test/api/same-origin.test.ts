import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enable } from "./running.ts";
import { ADMIN_PASSWORD, openTestService, type TestService } from "./test-service.ts";

/** Each door that a browser's cookie opens has one rule for whose page may use it. */

const BASE_URL = "https://hooks.example.test";

let service: TestService;
let token: string;

before(async () => {
  service = await openTestService({ config: { BASE_URL } });
  await service.want(201, "POST", "/webhook", { body: { name: "mine", flow: "echo" } });
  await enable(service, "mine", { key: null, require_login: true });
  token = await service.login();
});

after(() => service[Symbol.asyncDispose]());

/** As an older browser sends it, without Fetch Metadata, behind a proxy that replaces Host. */
const DOORS: Readonly<Record<string, (origin: string) => Promise<Response>>> = {
  "the login screen": (origin) =>
    fetch(`${service.url}/ui/login`, {
      method: "POST",
      redirect: "manual",
      headers: { origin, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ user_name: "admin", password: ADMIN_PASSWORD }),
    }),
  "a call": (origin) =>
    fetch(`${service.url}/api/latest/webhook/mine/call?async`, {
      method: "POST",
      headers: { origin, cookie: `service-token=${token}` },
    }),
  "the API": (origin) =>
    fetch(`${service.url}/api/latest/webhook`, {
      method: "POST",
      headers: { origin, cookie: `service-token=${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: `made-${new URL(origin).hostname}`, flow: "echo" }),
    }),
};

for (const [door, open] of Object.entries(DOORS))
  test(`${door} takes pages of its own host and of BASE_URL, and of no other`, async () => {
    for (const own of [service.url, BASE_URL]) {
      const answer = await open(own);
      assert.ok(answer.status < 400, `${own}: ${answer.status} ${await answer.text()}`);
    }
    for (const foreign of ["https://other.example.test", "file:///"]) {
      const answer = await open(foreign);
      assert.equal(answer.status, 403, `${foreign}: ${await answer.text()}`);
    }
  });
