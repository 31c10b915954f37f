import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { chromium, type Browser, type Page } from "playwright-core";
import { openGates } from "./gates.ts";
import { callTarget, countExecutions, poll } from "./scenario.ts";
import { startService, type Service } from "./service.ts";
import { findProgram, openTarget } from "./target.ts";

/** Pages of another origin in a real browser: what they may read of a webhook. */

const KEY = "blackbox-canary-key-of-a-page";

const program = findProgram("chromium");
const target = openTarget();
const skip = target.skip ?? (program === null ? "no chromium on this machine" : false);

/** What a page got; null: its browser let it read nothing. */
interface Got {
  readonly status: number;
  readonly text: string;
  readonly id: string | null;
  readonly own: string | null;
}

/** One request of a page, as the network saw it. */
interface Seen {
  readonly method: string;
  status: number | null;
}

describe(`a page of another origin (${target.name})`, { skip }, () => {
  let service: Service;
  let browser: Browser;
  let pages: Server;
  let origin: string;
  before(async () => {
    pages = await servePages();
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    service = await startService({
      flows: ["echo", "answer", "gate"],
      config: { WAIT_POLL_WINDOW_SEC: 1 },
    });
    await createWebhooks(service, origin);
    browser = await chromium.launch({
      executablePath: program ?? "",
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"],
    });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    pages?.closeAllConnections();
    pages?.close();
  });

  const open = async (at: string): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(at);
    return page;
  };
  const urlOf = (webhook: string, path = "") =>
    `${service.url}${callTarget(service, webhook, path)}`;

  test("asks first, and reads the result over each leg", async () => {
    await using gates = await openGates();
    const page = await open(origin);
    const seen = await watch(page, service.url);
    const got = ask(page, urlOf("gate", `?${gates.query("page")}`), {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: "{}",
    });
    await gates.arrived("page");
    await page.waitForResponse((response) => response.status() === 302);
    gates.open("page");
    const result = await got;
    assert.deepEqual([result?.status, result?.text], [200, '{"gate":"page"}']);
    assert.match(result?.id ?? "", /^[0-9a-f-]{36}$/, "the execution's id can be read");
    await allAnswered(seen);
    const calls = seen.filter(({ method }) => method !== "OPTIONS");
    assert.deepEqual([calls[0]?.method, calls[0]?.status], ["POST", 303]);
    assert.deepEqual([calls[1]?.method, calls[1]?.status], ["GET", 302]);
    assert.deepEqual([calls.at(-1)?.method, calls.at(-1)?.status], ["GET", 200]);
    const preflights = seen.filter(({ method }) => method === "OPTIONS");
    assert.ok(preflights.length >= 2, "the call and its legs are asked for");
    for (const { status } of preflights) assert.equal(status, 204);
    await page.close();
  });

  test("sends a simple call without asking, and reads a response that the flow shaped", async () => {
    const page = await open(origin);
    const seen = await watch(page, service.url);
    const body = JSON.stringify({
      steps: [
        {
          webhook_response: {
            status: 418,
            headers: { "content-type": "text/plain", "access-control-allow-origin": "https://x.y" },
            body: "a teapot",
          },
        },
      ],
    });
    const simple = await ask(page, urlOf("answer"), { method: "GET" });
    assert.deepEqual([simple?.status, simple?.text], [200, "null"]);
    await allAnswered(seen);
    const legs = seen.map(({ method, status }) => `${method} ${status}`);
    assert.match(legs.join(), /^GET 303,(GET 302,)*GET 200$/, "no request but the call's own");
    const headers = { "content-type": "application/json" };
    const custom = await ask(page, urlOf("answer"), { method: "POST", headers, body });
    assert.deepEqual([custom?.status, custom?.text], [418, "a teapot"]);
    assert.equal(custom?.own, null, "headers that are not exposed are not read");
    await page.close();
  });

  test("reads refusals and failures", async () => {
    const page = await open(origin);
    const headers = { "content-type": "application/json" };
    const without = await ask(page, urlOf("gate"), { method: "POST", headers, body: "{}" });
    assert.deepEqual([without?.status, without?.text], [401, '"401 Unauthorized"']);
    const bad = await ask(page, urlOf("answer"), { method: "POST", headers, body: "{" });
    assert.equal(bad?.status, 400);
    const body = '{"steps":[{"fail":"on purpose"}]}';
    const failed = await ask(page, urlOf("answer"), { method: "POST", headers, body });
    assert.deepEqual([failed?.status, failed?.text], [500, "ENDED_ERROR: on purpose"]);
    const put = await ask(page, urlOf("get"), { method: "PUT", headers, body: "{}" });
    assert.equal(put, null, "a method that is not listed is not sent");
    await page.close();
  });

  test("uses its reader's login where it is listed with credentials", async () => {
    const page = await open(origin);
    await page
      .context()
      .addCookies([
        { name: "service-token", value: service.token(), url: service.url, httpOnly: true },
      ]);
    const init = { credentials: "include", method: "POST" } as const;
    const got = await ask(page, urlOf("login"), init);
    assert.equal(got?.status, 200);
    assert.match(got.text, /"user_name":"admin"/);
    const asked = { ...init, headers: { "content-type": "application/json" }, body: "{}" };
    assert.equal((await ask(page, urlOf("login"), asked))?.status, 200, "after a preflight too");
    const none = await ask(page, urlOf("login"), { method: "POST" });
    assert.equal(none?.status, 401, "without credentials there is no login");
    assert.equal(await ask(page, urlOf("get"), { credentials: "include" }), null);
    await page.close();
  });

  test("that is not listed reads nothing; what it sends without asking is a call all the same", async () => {
    const page = await open(origin.replace("127.0.0.1", "localhost"));
    const count = await countExecutions(service, "get");
    const headers = { "content-type": "application/json" };
    const asked = await ask(page, urlOf("answer"), { method: "POST", headers, body: "{}" });
    assert.equal(asked, null);
    assert.equal(await ask(page, urlOf("get"), {}), null);
    assert.equal(await countExecutions(service, "get"), count + 1, "CORS is no access control");
    const any = await ask(page, urlOf("any"), { method: "PUT", headers, body: "{}" });
    assert.equal(any?.status, 200, '"*" lists every origin');
    await page.close();
  });

  test("has the origin null in a frame that is kept apart, and in a page of a flow", async () => {
    const page = await open(`${origin}/frame`);
    const frame = page.frames()[1];
    assert.ok(frame !== undefined);
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    assert.equal((await ask(frame, urlOf("null"), init))?.status, 200);
    assert.equal(await ask(frame, urlOf("answer"), init), null, "where null is not listed");
    assert.equal((await ask(frame, urlOf("any"), init))?.status, 200);
    const body = '{"steps":[{"webhook_html_response":"<!doctype html><title>of a flow</title>"}]}';
    const started = await fetch(urlOf("page", "?async"), { ...init, body });
    await page.goto(urlOf("page", `?__wait_execution_id=${await started.text()}`));
    assert.equal(await page.evaluate("self.origin"), "null");
    assert.equal((await ask(page, urlOf("null"), init))?.status, 200);
    assert.equal(await ask(page, urlOf("answer"), init), null);
    await page.close();
  });
});

async function createWebhooks(service: Service, origin: string): Promise<void> {
  const cors = { origins: ["https://first.example", origin] };
  await service.createWebhook("gate", "gate", { key: KEY, cors });
  await service.createWebhook("answer", "answer", { cors });
  await service.createWebhook("get", "echo", { cors, methods: ["GET"] });
  await service.createWebhook("login", "echo", {
    require_login: true,
    cors: { ...cors, credentials: true },
  });
  await service.createWebhook("any", "echo", { cors: { origins: ["*"] } });
  await service.createWebhook("null", "echo", { cors: { origins: ["null"] } });
  await service.createWebhook("page", "answer");
}

const FRAME = `<iframe sandbox="allow-scripts" srcdoc="<!doctype html><title>apart</title>"></iframe>`;

/** The other origin: pages without anything in them. */
async function servePages(): Promise<Server> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<!doctype html><title>page</title>${request.url === "/frame" ? FRAME : ""}`);
  });
  server.listen(0);
  await once(server, "listening");
  return server;
}

interface Init {
  readonly method?: string;
  readonly credentials?: "include";
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** What a script of the page gets. */
function ask(page: Pick<Page, "evaluate">, url: string, init: Init): Promise<Got | null> {
  return page.evaluate(
    async ([asked, how]) => {
      try {
        const response = await fetch(asked, how);
        const { status, headers } = response;
        const id = headers.get("flowhook-execution-id");
        return { status, text: await response.text(), id, own: headers.get("x-request-id") };
      } catch {
        return null;
      }
    },
    [url, init] as const,
  );
}

/** The debugger may tell of an answer after the page has it. */
function allAnswered(seen: readonly Seen[]): Promise<true> {
  return poll("the answers to all requests", async () =>
    seen.every(({ status }) => status !== null) ? true : null,
  );
}

/** Preflights are seen by the debugger alone. */
async function watch(page: Page, url: string): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  const byId = new Map<string, Seen>();
  const session = await page.context().newCDPSession(page);
  session.on("Network.requestWillBeSent", ({ requestId, request, redirectResponse }) => {
    // Not what the browser asks the other origin itself.
    if (!request.url.startsWith(url)) return;
    const earlier = byId.get(requestId);
    if (earlier !== undefined) earlier.status = redirectResponse?.status ?? null;
    const one: Seen = { method: request.method, status: null };
    byId.set(requestId, one);
    seen.push(one);
  });
  session.on("Network.responseReceived", ({ requestId, response }) => {
    const one = byId.get(requestId);
    if (one !== undefined) one.status = response.status;
  });
  await session.send("Network.enable");
  return seen;
}
