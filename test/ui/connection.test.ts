import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { startService, type Service } from "../blackbox/service.ts";
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
      await page
        .getByRole("tab", { name: "Try it" })
        .or(page.locator("tbody tr").first())
        .first()
        .waitFor();
    }
  });
});
