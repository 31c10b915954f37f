import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ADMIN_PASSWORD, openTestService, type TestService } from "./test-service.ts";

/** The login screen, as a form is sent to it. */

let service: TestService;

before(async () => {
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

async function logIn(next: string): Promise<Response> {
  const pairs = { user_name: "admin", password: ADMIN_PASSWORD, next };
  const body = new URLSearchParams(pairs).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return fetch(`${service.url}/ui/login`, { method: "POST", body, headers, redirect: "manual" });
}

const NEXT: readonly [next: string, location: string][] = [
  ["/ui/webhooks", "/ui/webhooks"],
  ["/ui/webhooks?text=a%20b&flow=x#top", "/ui/webhooks?text=a%20b&flow=x#top"],
  ["/ui/€", "/ui/%E2%82%AC"],
  ["/ui/webhooks/größe?text=ü", "/ui/webhooks/gr%C3%B6%C3%9Fe?text=%C3%BC"],
  ["/ui/a b", "/ui/a%20b"],
  ["/ui/😀", "/ui/%F0%9F%98%80"],
  ["/ui/\u00a0", "/ui/%C2%A0"],
  ["/ui/\u2028", "/ui/%E2%80%A8"],
  ["/ui/a\r\nset-cookie: a=b", "/ui/"],
  ["//example.test", "/ui/"],
  ["/\\example.test", "/ui/"],
  ["https://example.test", "/ui/"],
  ["", "/ui/"],
];

for (const [next, location] of NEXT)
  test(`L5: the login leads to ${JSON.stringify(next)} as ${location}`, async () => {
    const answer = await logIn(next);
    assert.equal(answer.status, 303, await answer.text());
    assert.equal(answer.headers.get("location"), location);
    assert.match(answer.headers.get("set-cookie") ?? "", /^service-token=fht_/);
  });

test("L5: bytes that are no UTF-8 in a form are no fault of the service", async () => {
  const body = `user_name=admin&password=${encodeURIComponent(ADMIN_PASSWORD)}&next=/ui/%ff%ed%a0%80`;
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const init = { method: "POST", body, headers, redirect: "manual" as const };
  const answer = await fetch(`${service.url}/ui/login`, init);
  assert.equal(answer.status, 303);
  assert.match(answer.headers.get("location") ?? "", /^\/ui\/(%EF%BF%BD)+$/);
});
