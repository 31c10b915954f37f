import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import { poll } from "../blackbox/scenario.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { call, openWorkshop } from "./workshop.ts";

/** Notes what comes into a live region, as screen readers are told of it; a timer is not. */
const LISTEN = `window.heard = [];
window.heardAt = 0;
const LIVE = "[aria-live], [role=status], [role=alert], [role=log]";
new MutationObserver((changes) => {
  for (const { type, target, addedNodes } of changes) {
    const at = target instanceof Element ? target : target.parentElement;
    const nodes = type === "characterData" ? [target] : [...addedNodes];
    if (!at?.closest(LIVE) || at.closest("[role=timer]")) continue;
    heard.push(...nodes.map(({ textContent }) => textContent).filter((text) => text !== ""));
    heardAt = performance.now();
  }
}).observe(document, { subtree: true, childList: true, characterData: true });`;

describe("what screen readers hear", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    ({ page } = await openPage(await openWindow(browser, service)));
    await page.addInitScript(LISTEN);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function until(text: string): Promise<void> {
    await poll(`"${text}" to be heard`, async () => ((await heard()).includes(text) ? true : null));
  }

  /** Until nothing is heard for longer than a text is held back that follows another one. */
  async function untilQuiet(): Promise<void> {
    const silence = () => page.evaluate<number>("performance.now() - heardAt");
    await poll("silence", async () => ((await silence()) > 1500 ? true : null));
  }

  const heard = () => page.evaluate<string[]>("heard");

  async function seconds(count: number): Promise<string> {
    const input_value = { query: { seconds: String(count) } };
    const { body } = await service.api("POST", "/flow/slow/execution", { input_value });
    return (body as { id: string }).id;
  }

  test("how many rows a list has, what has come, and what a search finds", async () => {
    await visit(page, service, "/ui/executions");
    await page.locator("#live", { hasText: /^Live/ }).waitFor();
    for (let count = 0; count < 3; count += 1) await call(service, "hello", {});
    await until("12 rows, 3 new");
    await page.getByLabel("Search").fill("there is none");
    await until("no rows");
  });

  test("the answer of a call once, and not all that comes with it", async () => {
    await visit(page, service, "/ui/webhooks/hello#try");
    await page.getByRole("button", { name: "Send" }).click();
    await until("Answered with 200");
    await page
      .locator("#try .badges", { hasText: "Open its execution" })
      .getByText("ran")
      .waitFor();
    await untilQuiet();
    const said = await heard();
    assert.deepEqual(
      said.filter((text) => text !== "Sent"),
      ["Answered with 200"],
    );
  });

  test("the answer of the next call too, where it is the same and comes soon", async () => {
    await visit(page, service, "/ui/webhooks/hello#try");
    const send = page.getByRole("button", { name: "Send" });
    await send.click();
    await until("Answered with 200");
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    await send.click();
    await poll("it to be heard again", async () => {
      const said = (await heard()).filter((text) => text === "Answered with 200");
      return said.length === 2 ? true : null;
    });
  });

  test("the end of an execution", async () => {
    const id = await seconds(60);
    await visit(page, service, `/ui/executions/${id}`);
    await service.api("POST", `/execution/${id}/cancel`);
    await until("Cancelled");
  });

  test("nothing as new that moved up from the page behind", async () => {
    const ids: string[] = [];
    for (let count = 0; count < 2; count += 1) ids.push(await seconds(60));
    await poll("both to run", async () => {
      const { body } = await service.api("GET", "/execution?status=RUNNING");
      return (body as { items: unknown[] }).items.length === 2 ? true : null;
    });
    await page.route(/\/execution\?/, (route) =>
      route.continue({ url: route.request().url().replace("limit=50", "limit=1") }),
    );
    await visit(page, service, "/ui/executions?status=RUNNING");
    await page.locator("#live", { hasText: /^Live/ }).waitFor();
    await until("Page 1: 1 row");
    await service.api("POST", `/execution/${ids.pop()}/cancel`);
    await until("1 row");
    await page.unroute(/\/execution\?/);
    for (const id of ids) await service.api("POST", `/execution/${id}/cancel`);
  });

  test("once what was done in a dialog", async () => {
    await visit(page, service, "/ui/webhooks/hello#access");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Require a login" }).click();
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Require a login" }).click();
    await until("Changed");
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual(await heard(), ["Changed"]);
  });
});
