import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("a field that is drawn again keeps the focus", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    ({ page } = await openPage(await openWindow(browser, service)));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const label = (text: string) => page.getByLabel(text, { exact: true });

  /** By keys alone, so that the focus is not given once more. */
  async function choose(field: Locator, value: string, isDrawn: Locator): Promise<void> {
    await field.focus();
    for (let step = 0; step < 10 && (await field.inputValue()) !== value; step += 1)
      await page.keyboard.press("ArrowDown");
    await isDrawn.waitFor();
    assert.equal(await field.and(page.locator(":focus")).count(), 1, value);
  }

  test("the name of a new webhook", async () => {
    await visit(page, service, "/ui/new-webhook?flow=hello");
    await page.locator("#name:focus").waitFor();
    for (const key of "orders") await page.keyboard.press(key);
    await page.locator("#preview").getByText("/webhook/orders/call").waitFor();
    assert.equal(await label("Name").inputValue(), "orders");
  });

  test("the method of a call", async () => {
    await visit(page, service, "/ui/webhooks/hello#try");
    await label("Method").selectOption("GET");
    await choose(label("Method"), "POST", label("Content of the body"));
  });

  test("who signs, and how", async () => {
    await visit(page, service, "/ui/webhooks/hello#access");
    await page.getByRole("button", { name: "Require signatures" }).click();
    await choose(label("Who signs"), "custom", label("Algorithm"));
    await choose(label("Time of the call"), "header", label("Header of the time"));
  });
});
