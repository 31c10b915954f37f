import assert from "node:assert/strict";
import { resolveLocation, send } from "../client.ts";
import { callTarget, type Group } from "../scenario.ts";

/** A service behind a path prefix, as BASE_URL says. */
export const PREFIX: Group = {
  name: "prefix",
  config: { BASE_URL: "https://hooks.example/flows" },
  prefix: "/flows",
  flows: ["echo"],
  webhooks: { echo: { flow: "echo" }, private: { flow: "echo", require_login: true } },
  rows: [
    {
      name: "a call and its redirects stay under the prefix",
      covers: ["4.1 path", "C8 relative"],
      webhook: "echo",
      path: "/a/b?x=1",
      expect: { status: 200, chain: [303, 200], input: { path: "a/b", query: { x: "1" } } },
      forbid: ["hooks.example"],
    },
    {
      name: "the login screen is under the prefix",
      covers: ["5.1 login screen"],
      async run(service) {
        const target = callTarget(service, "private", "/x?y=1");
        const headers = { accept: "text/html" };
        const answer = await send(service.origin, { target, headers });
        assert.equal(answer.status, 302);
        const url = resolveLocation(service.origin, target, answer.headers["location"] ?? "");
        assert.equal(url.pathname, "/flows/ui/login");
        const page = await send(service.origin, { target: url.pathname + url.search, headers });
        assert.equal(page.status, 200);
      },
    },
    {
      name: "refusals name places as they were asked for",
      covers: ["4.1 path"],
      async run(service) {
        for (const target of ["/flows/api/latest/webhook", "/flows/zzz", "/zzz"]) {
          const { text } = await send(service.origin, { target: `${target}?a=b` });
          assert.equal((JSON.parse(text) as { instance: string }).instance, target);
        }
        const { text } = await send(service.origin, { target: "/flows/api/latest/webhook" });
        assert.match(text, /POST \/flows\/api\/latest\/auth\/login/);
      },
    },
    {
      name: "the preview of a webhook's URL",
      covers: ["4.1 path"],
      async run(service) {
        const answer = await service.api("GET", "/webhook/echo");
        const { url } = answer.body as { url: string };
        assert.equal(url, "https://hooks.example/flows/api/latest/webhook/echo/call");
      },
    },
  ],
};
