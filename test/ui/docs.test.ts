import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser } from "playwright-core";
import { listPages } from "../../src/assets/manual.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";

describe("the documentation", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await startService({ flows: ["echo"], prefix: "/hooks", config: CONFIG });
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  test("is reached from the empty overview and from the navigation", async () => {
    const context = await openWindow(browser, service);
    const { page, errors } = await openPage(context);
    await visit(page, service, "/ui/");
    await page.locator("#start").getByRole("link", { name: "how to write a flow" }).click();
    await settled(page);
    assert.equal(await page.locator("h1").innerText(), "Flows");
    await page.getByRole("navigation", { name: "Main" }).getByText("Documentation").click();
    await settled(page);
    assert.equal(await page.locator("h1").innerText(), "Documentation");
    assert.deepEqual(errors, []);
    await context.close();
  });

  test("is searched, and a result leads to its section", async () => {
    const context = await openWindow(browser, service);
    const { page, errors } = await openPage(context);
    await visit(page, service, "/ui/docs");
    await page.getByLabel("Search the documentation").fill("Retention oldest");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Operating: Retention" }).click();
    await settled(page);
    assert.equal(new URL(page.url()).hash, "#retention");
    assert.ok(await page.locator("h2#retention").isVisible());
    assert.deepEqual(errors, []);
    await context.close();
  });

  test("fits into a phone, obeys the policy, and has no link that leads nowhere", async () => {
    const context = await openWindow(browser, service, { isNarrow: true });
    const { page, errors } = await openPage(context);
    const anchors = new Map<string, Set<string>>();
    const links: { from: string; to: URL }[] = [];
    for (const { name } of listPages()) {
      await visit(page, service, `/ui/docs/${name}`);
      const root = page.locator("html");
      const [whole, shown] = await root.evaluate((html) => [html.scrollWidth, html.clientWidth]);
      assert.ok(Number(whole) <= Number(shown), `"${name}" is ${whole} wide in ${shown}`);
      const found = await page.locator(".manual").evaluate((article) => ({
        ids: [...article.querySelectorAll("[id]")].map(({ id }) => id),
        links: [...article.querySelectorAll("a")].map(({ href }) => href),
      }));
      anchors.set(new URL(page.url()).pathname, new Set(found.ids));
      for (const href of found.links) links.push({ from: name, to: new URL(href) });
    }
    const own = links.filter(({ to }) => to.origin === new URL(service.url).origin);
    assert.ok(own.length >= 10, `${own.length} links`);
    for (const { from, to } of own) {
      const ids = anchors.get(to.pathname);
      assert.ok(ids !== undefined, `${from}: ${to.pathname}`);
      assert.ok(to.hash === "" || ids.has(to.hash.slice(1)), `${from}: ${to.href}`);
    }
    assert.deepEqual(errors, []);
    await context.close();
  });
});

const CONFIG = { BASE_URL: "http://127.0.0.1/hooks" };
