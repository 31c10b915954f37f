import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startService, type Service } from "../blackbox/service.ts";
import { poll } from "../blackbox/scenario.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";

describe("a page that loses its service", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  before(async () => {
    service = await startService({ flows: ["answer"] });
    await service.createWebhook("answer", "answer");
    browser = await openBrowser();
    context = await openWindow(browser, service);
    ({ page } = await openPage(context));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const said = () => page.locator(".complaint", { hasText: "cannot be reached" });
  const shown = (of: Page) =>
    of.getByRole("tab", { name: "Try it" }).or(of.locator("tbody tr").first()).first();

  test("says so until it is there again", async () => {
    await visit(page, service, "/ui/flows/answer");
    await context.setOffline(true);
    await said().waitFor();
    await context.setOffline(false);
    await said().waitFor({ state: "detached" });
  });

  test("does so where nothing is read by itself, and keeps what else is said", async () => {
    await visit(page, service, "/ui/admin/projects");
    await service.api("POST", "/project", { name: "gone" });
    await page.reload();
    await settled(page);
    await service.api("DELETE", "/project/gone");
    await page.getByRole("button", { name: "Change gone" }).click();
    const other = page.locator(".complaint", { hasText: 'There is no project "gone"' });
    await other.waitFor();
    await context.setOffline(true);
    await page.getByRole("button", { name: "Change gone" }).click();
    await said().waitFor();
    await context.setOffline(false);
    await said().waitFor({ state: "detached" });
    assert.equal(await other.count(), 1);
  });

  test("reads then what it could not read before", async () => {
    for (const path of ["/ui/webhooks", "/ui/webhooks/answer", "/ui/admin/projects"]) {
      await page.route(/\/api\/latest\//, (route) => route.abort());
      await page.goto(`${service.url}${path}`);
      await said().waitFor();
      await page.unroute(/\/api\/latest\//);
      await said().waitFor({ state: "detached" });
      await shown(page).waitFor();
    }
  });

  test("reads then what stands in a row, and takes nothing for new", async () => {
    const path = "/api/latest/webhook/answer/call";
    assert.equal((await fetch(service.url + path, { method: "POST" })).status, 200);
    const executions = /\/execution\?/;
    for (const [list, place] of [
      ["/ui/webhooks", page.locator("tbody .outcomes")],
      ["/ui/executions", page.locator("tbody tr")],
    ] as const) {
      await page.route(executions, (route) => route.abort());
      const failed = page.waitForEvent("requestfailed", (of) => executions.test(of.url()));
      await page.goto(service.url + list);
      await failed;
      await page.unroute(executions);
      await place.waitFor();
      assert.equal(await page.locator("tbody tr.new").count(), 0);
    }
  });

  test("shows itself ever more seldom where one request always fails, and is not loaded again", async () => {
    const window = await openWindow(browser, service);
    const looks = [
      { path: "/ui/webhooks/answer", fails: /\/webhook\/answer$/ },
      { path: "/ui/webhooks", fails: /\/webhook\?/ },
    ];
    const tries = looks.map(async ({ path, fails }) => {
      const { page: other } = await openPage(window);
      const at: number[] = [];
      const fourth = Promise.withResolvers<void>();
      await other.route(fails, (route) => {
        if (at.push(performance.now()) === 4) fourth.resolve();
        return route.abort();
      });
      let loads = 0;
      other.on("load", () => (loads += 1));
      await other.goto(`${service.url}${path}`);
      await fourth.promise;
      const [first = 0, second = 0, third = 0, last = 0] = at;
      assert.ok(last - third > 1.5 * (second - first), `${path} was tried at ${at.join(", ")} ms`);
      assert.equal(loads, 1, path);
      await other.unroute(fails);
      await other.getByText("cannot be reached").waitFor({ state: "detached" });
      await shown(other).waitFor();
    });
    await Promise.all(tries);
    await window.close();
  });

  test("reads again what somebody has stopped it from reading", async () => {
    const reads = /\/api\/latest\/(webhook|flow|statistics)/;
    const under = Promise.withResolvers<void>();
    let count = 0;
    await page.route(reads, () => {
      if ((count += 1) === 3) under.resolve();
    });
    await page.goto(`${service.url}/ui/webhooks`);
    await under.promise;
    await page.unroute(reads);
    await page.evaluate("stop()");
    await shown(page).waitFor();
    await said().waitFor({ state: "detached" });
  });

  test("reads again once what it reads is answered, and not before", async () => {
    const window = await openWindow(browser, service);
    const { page: other } = await openPage(window);
    await other.clock.install();
    await visit(other, service, "/ui/flows/answer");
    let asked = 0;
    other.on("request", (request) => (asked += Number(request.url().endsWith("/flow/answer"))));
    const released = Promise.withResolvers<void>();
    await other.route(/\/flow\/answer$/, async (route) => {
      await released.promise;
      await route.continue();
    });
    await other.clock.runFor(12_000);
    await other.evaluate("fetch(location.href)");
    assert.equal(asked, 1);
    const answer = other.waitForResponse(/\/flow\/answer$/);
    released.resolve();
    await answer;
    const next = other.waitForRequest(/\/flow\/answer$/);
    await poll("the next to be asked for", async () => {
      await other.clock.runFor(3000);
      return asked === 1 ? null : true;
    });
    await next;
    await window.close();
  });

  test("says that it is loading where an answer takes long", async () => {
    for (const [path, read, place] of [
      ["/ui/webhooks", /\/webhook\?/, ".list"],
      ["/ui/webhooks/answer", /\/webhook\/answer$/, "#page"],
    ] as const) {
      const released = Promise.withResolvers<void>();
      await page.route(read, async (route) => {
        await released.promise;
        await route.continue();
      });
      await page.goto(`${service.url}${path}`);
      const after = `getComputedStyle(document.querySelector("${place}"), "::after")`;
      const seen = () => page.evaluate<string[]>(`[${after}.content, ${after}.visibility]`);
      await poll("it to be said", async () => {
        const [content, visibility] = await seen();
        return content?.includes("Loading") === true && visibility === "visible" ? true : null;
      });
      released.resolve();
      await shown(page).waitFor();
      assert.equal((await seen())[0], "none");
      await page.unroute(read);
    }
  });

  test("does not say so of a list whose reading was refused", async () => {
    await page.goto(`${service.url}/ui/executions?created_by=nosuchuser`);
    await page.locator(".complaint").waitFor();
    // It may be read once more, as its stream opens; what it must not is say so for ever.
    await poll("nothing to be said", async () => {
      const content = `getComputedStyle(document.querySelector(".list"), "::after").content`;
      return (await page.evaluate<string>(content)) === "none" ? true : null;
    });
  });

  test("asks once at a time where the network hangs, and not for ever", async () => {
    await visit(page, service, "/ui/flows/answer");
    let asked = 0;
    await page.route(/\/api\/latest\//, async (route) => {
      // This one is never answered.
      if (route.request().url().endsWith("/auth/me")) asked += 1;
      else await route.abort();
    });
    await said().waitFor();
    await page.waitForEvent("requestfailed", (request) => request.url().endsWith("/auth/me"));
    assert.equal(asked, 1);
    await page.unroute(/\/api\/latest\//);
    await said().waitFor({ state: "detached" });
  });

  test("does not wait for ever for a service that stands still, and reads once it goes on", async () => {
    const window = await openWindow(browser, service);
    const { page: other } = await openPage(window);
    await other.clock.install();
    await visit(other, service, "/ui/webhooks?text=nosuch");
    const silent = other.locator(".complaint", { hasText: "does not answer" });
    process.kill(service.pid, "SIGSTOP");
    try {
      const asked = other.waitForRequest(/text=answer/);
      await other.locator(".filters input[type=search]").fill("answer");
      await asked;
      await other.clock.fastForward(20_000);
      await silent.waitFor();
    } finally {
      process.kill(service.pid, "SIGCONT");
    }
    await other.clock.fastForward(2000);
    await other.getByRole("rowheader", { name: "answer" }).waitFor();
    await silent.waitFor({ state: "detached" });
    await window.close();
  });

  test("is live no more once its stream tells nothing, not even that it lives", async () => {
    const window = await openWindow(browser, service);
    const { page: other } = await openPage(window);
    await other.clock.install();
    await visit(other, service, "/ui/executions");
    const live = other.locator("#live");
    await live.filter({ hasText: /^Live/ }).waitFor();
    process.kill(service.pid, "SIGSTOP");
    try {
      await other.clock.fastForward(45_000);
      await live.filter({ hasText: /^Not live/ }).waitFor();
    } finally {
      process.kill(service.pid, "SIGCONT");
    }
    await live.filter({ hasText: /^Live/ }).waitFor();
    await window.close();
  });

  test("knows what a proxy answers in its place from what it refuses itself", async () => {
    const api = /\/api\/latest\//;
    await page.route(api, (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }),
    );
    await page.goto(`${service.url}/ui/webhooks`);
    await said().waitFor();
    await page.unroute(api);
    await said().waitFor({ state: "detached" });
    await shown(page).waitFor();
    const detail = "The ledger cannot be written";
    await page.route(/\/webhook\?/, (route) =>
      route.fulfill({
        status: 503,
        contentType: "application/problem+json",
        body: JSON.stringify({ type: "urn:flowhook:error:unavailable", detail }),
      }),
    );
    await page.reload();
    await page.locator(".complaint", { hasText: detail }).waitFor();
    assert.equal(await said().count(), 0);
    await page.unroute(/\/webhook\?/);
  });
});
