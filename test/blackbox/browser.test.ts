import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chromium, type Browser } from "playwright-core";
import { callTarget, countExecutions } from "./scenario.ts";
import { ADMIN_PASSWORD, startService, type Service } from "./service.ts";
import { findProgram, openTarget, ROOT } from "./target.ts";
import { RAN, UNTRUSTED } from "./untrusted.ts";

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const program = findProgram("chromium");
const target = openTarget();
const skip = target.skip ?? (program === null ? "no chromium on this machine" : false);

describe(`a browser (${target.name})`, { skip }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startService({
      flows: ["echo", "answer"],
      plugins: [join(ROOT, "plugins/status-page.ts")],
      config: { WAIT_POLL_WINDOW_SEC: 1 },
    });
    await service.createWebhook("private", "echo", { require_login: true });
    await service.createWebhook("page", "answer");
    await service.createWebhook("status", "status-page");
    browser = await chromium.launch({ executablePath: program ?? "", args: ARGUMENTS });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  test("is sent to the login screen and comes back to its call", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const path = callTarget(service, "private", "/a/b?x=1&y=%26");
    await page.goto(`${service.url}${path}`);
    assert.match(page.url(), /\/ui\/login\?next=/);
    assert.equal(await countExecutions(service, "private"), 0, "nothing is started before");

    await page.fill('input[name="user_name"]', "admin");
    await page.fill('input[name="password"]', "a wrong password");
    await page.press('input[name="password"]', "Enter");
    // The form comes once more, empty: what is typed before is lost.
    await page.getByText("The user name or the password is wrong").waitFor();
    assert.match(page.url(), /\/ui\/login/, "a wrong password does not come through");

    await page.fill('input[name="user_name"]', "admin");
    await page.fill('input[name="password"]', ADMIN_PASSWORD);
    await page.press('input[name="password"]', "Enter");
    await page.waitForURL((url) => url.searchParams.has("__wait_execution_id"));
    const shown = JSON.parse(await page.innerText("body")) as Record<string, unknown>;
    assert.equal(shown["method"], "GET");
    assert.equal(shown["path"], "a/b");
    assert.deepEqual(shown["query"], { x: "1", y: "&" });
    assert.equal((shown["auth"] as Record<string, unknown>)["user_name"], "admin");
    assert.equal(await countExecutions(service, "private"), 1);

    const cookies = await context.cookies();
    const cookie = cookies.find(({ name }) => name === "service-token");
    assert.ok(cookie?.httpOnly, "scripts cannot read the login token");
    assert.equal(cookie.sameSite, "Lax");
    assert.ok(!(await page.innerText("body")).includes(cookie.value));

    await page.goto(`${service.url}${callTarget(service, "private", "/again")}`);
    assert.match(await page.innerText("body"), /"path":"again"/, "the session is kept");
    await context.close();
  });

  test("does not leave the service for the address in `next`", async () => {
    for (const next of [
      "https://example.test/",
      "//example.test/",
      "/\\example.test",
      "javascript:alert(1)",
    ]) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(`${service.url}/ui/login?next=${encodeURIComponent(next)}`);
      await page.fill('input[name="user_name"]', "admin");
      await page.fill('input[name="password"]', ADMIN_PASSWORD);
      await page.press('input[name="password"]', "Enter");
      await page.waitForURL((url) => !url.pathname.endsWith("/ui/login") || !url.search);
      assert.equal(new URL(page.url()).host, new URL(service.url).host, `next=${next}`);
      await context.close();
    }
  });

  test("fills the form of a flow's page, which starts an execution of its own", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const styles = page.waitForResponse((response) => response.url().endsWith(".css"));
    await page.goto(`${service.url}${callTarget(service, "status")}`);
    assert.equal((await styles).status(), 200, "the default stylesheet is found");
    await page.fill('input[name="note"]', "Back at noon");
    await page.click('button[type="submit"]');
    // The next page has no body at first.
    await page.waitForFunction("document.body?.textContent.includes('Back at noon')");
    assert.equal(await countExecutions(service, "status"), 2);
    await context.close();
  });

  test("gives the scripts of a flow's page no login", async () => {
    const context = await browser.newContext();
    await context.addCookies([
      { name: "service-token", value: service.token(), url: service.url, httpOnly: true },
    ]);
    const page = await context.newPage();
    const script = `
      document.title = self.origin;
      fetch("/api/latest/auth/me").then(
        async (response) => { document.body.textContent = "got " + (await response.text()); },
        () => { document.body.textContent = "refused"; },
      );`;
    const html = `<!doctype html><body>waiting<script>${script}</script></body>`;
    const headers = { "content-type": "text/html" };
    const id = await startAnswering(service, { status: 200, headers, body: html });
    await page.goto(`${service.url}${callTarget(service, "page")}?__wait_execution_id=${id}`);
    await page.waitForFunction("document.body.textContent !== 'waiting'");
    assert.equal(await page.title(), "null", "an opaque origin");
    const text = await page.innerText("body");
    assert.ok(!text.includes("admin"), text);
    await context.close();
  });

  for (const [type, body] of UNTRUSTED)
    test(`H1: runs nothing of an answer of type ${JSON.stringify(type)} as the service`, async () => {
      const context = await browser.newContext();
      await context.addCookies([
        { name: "service-token", value: service.token(), url: service.url, httpOnly: true },
      ]);
      const page = await context.newPage();
      const readAs: number[] = [];
      page.on("response", (response) => {
        if (response.url().endsWith("/auth/me")) readAs.push(response.status());
      });
      const headers = type === null ? {} : { "content-type": type };
      const id = await startAnswering(service, { status: 200, headers, body });
      const url = `${service.url}${callTarget(service, "page")}?__wait_execution_id=${id}`;
      // What becomes a download is no page, and so no fault either.
      const shown = await page.goto(url, { waitUntil: "load" }).catch(() => null);
      const ran = shown === null ? null : await page.evaluate(RAN);
      assert.ok(ran === null || ran === "null", `a script ran with the origin ${String(ran)}`);
      if (ran !== null) await page.waitForFunction("document.documentElement.dataset.got");
      assert.ok(!readAs.includes(200), "the login of the reader was used");
      await context.close();
    });
});

/** Starts the execution that answers so, and gives its id. */
async function startAnswering(service: Service, response: object): Promise<string> {
  const started = await fetch(`${service.url}${callTarget(service, "page")}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ steps: [{ webhook_response: response }] }),
    redirect: "manual",
  });
  return started.headers.get("flowhook-execution-id") ?? "";
}
