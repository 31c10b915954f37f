import assert from "node:assert/strict";
import { test } from "node:test";
import { placeCookies } from "../../src/server/webhooks/cookie-path.ts";
import { readTarget } from "../../src/server/webhooks/target.ts";

/** Where a browser sends a cookie (RFC 6265, sections 5.1.4 and 5.2.4): below this path. */
function pathOf(cookie: string, url: string): string {
  const [, ...attributes] = cookie.split(";").map((one) => one.trim());
  const paths = attributes.filter((one) => /^path=/i.test(one)).map((one) => one.slice(5).trim());
  const last = paths.at(-1) ?? "";
  return last.startsWith("/") ? last : url.slice(0, url.lastIndexOf("/"));
}

function isSent(path: string, url: string): boolean {
  return url === path || url.startsWith(path.endsWith("/") ? path : `${path}/`);
}

function place(cookie: string, url: string, prefix = ""): string {
  const target = readTarget(url.slice(prefix.length));
  assert.ok(target);
  const reply = { status: 200, headers: { "Set-Cookie": cookie }, body: null };
  placeCookies(reply, target, prefix);
  return [reply.headers["Set-Cookie"]].flat().join();
}

for (const prefix of ["", "/hooks/a"])
  for (const name of ["greet", "a%20b", "a;b"])
    for (const attributes of [
      "",
      "; Path",
      "; Path=",
      "; path=x",
      "; PATH=/a/call; Path=b; Secure",
    ])
      for (const path of ["/call", "/call/", "/call/a/b"])
        test(`a cookie "a=1${attributes}" of ${prefix}/${name}${path} goes to calls alone`, () => {
          const webhook = `${prefix}/api/latest/webhook/${name}`;
          const cookie = place(`a=1${attributes}`, webhook + path, prefix);
          assert.match(cookie, /^a=1(;|$)/);
          const scope = pathOf(cookie, webhook + path);
          for (const own of ["", "/authentication", "/refusal"])
            assert.ok(!isSent(scope, webhook + own), cookie);
          if (!name.includes(";")) assert.ok(isSent(scope, webhook + path), cookie);
        });

test("a cookie with a path stays as it is", () => {
  for (const cookie of [
    "a=1; Path=/api/latest/webhook/greet/call",
    "a=1; Path=x; path= /y; Secure",
  ])
    assert.equal(place(cookie, "/api/latest/webhook/greet/call"), cookie);
});
