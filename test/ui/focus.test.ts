import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { call, openWorkshop } from "./workshop.ts";

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

  test("a button that copies where pages have no clipboard, as over plain HTTP", async () => {
    await page.addInitScript(
      "Object.defineProperty(navigator, 'clipboard', { configurable: true })",
    );
    await visit(page, service, "/ui/webhooks/hello");
    const copy = page.getByRole("button", { name: "Copy" }).first();
    await copy.focus();
    await page.keyboard.press("Enter");
    await page.locator("#notices", { hasText: "Copied" }).waitFor();
    assert.equal(await copy.and(page.locator(":focus")).count(), 1);
  });

  test("a button that copies 5 MB there", { timeout: 60_000 }, async () => {
    const lines = Array.from({ length: 100_000 }, (_, at) => `${at} `.padEnd(40, "x"));
    await call(service, "answer", { steps: [], output: lines });
    const { body } = await service.api("GET", "/execution?limit=1&webhook=answer");
    const [newest] = (body as { items: { id: string }[] }).items;
    await page.addInitScript(
      `Object.defineProperty(navigator, "clipboard", { value: {}, configurable: true });
      addEventListener("copy", ({ clipboardData }) => {
        window.copied = clipboardData.getData("text/plain").length;
      });`,
    );
    await visit(page, service, `/ui/executions/${newest?.id}`);
    await page.locator("#output").getByRole("button", { name: "Copy" }).click();
    await page.locator("#notices", { hasText: "Copied" }).waitFor();
    assert.equal(await page.evaluate("window.copied"), JSON.stringify(lines, null, 2).length);
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
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  });

  for (const [tab, field, value, isDrawn] of [
    ["limits", "Counted are", "webhook", "Number of calls"],
    ["answers", "Pages that may read answers (CORS)", "listed", "Origins"],
    ["delivery", "How calls are told apart", "header", "Seconds for which a key is known"],
  ] as const)
    test(`${tab}: ${field}`, async () => {
      await visit(page, service, `/ui/webhooks/hello#${tab}`);
      await choose(label(field), value, label(isDrawn));
    });

  test("whose tokens are shown", async () => {
    await service.login("grace", "a password of grace");
    await visit(page, service, "/ui/admin/tokens");
    await label("All users").focus();
    await page.keyboard.press("Space");
    await page
      .getByRole("button", { name: /^End the session of/ })
      .first()
      .waitFor();
    assert.equal(await label("All users").and(page.locator(":focus")).count(), 1);
  });

  test("a filter of the audit", async () => {
    await visit(page, service, "/ui/admin/audit");
    const filter = page.getByRole("searchbox").first();
    await filter.focus();
    const answered = page.waitForResponse(/\/api\/latest\/audit\?/);
    for (const key of "nobody") await page.keyboard.press(key);
    await answered;
    await page.getByText("No entry is here").waitFor();
    assert.equal(await filter.inputValue(), "nobody");
    assert.equal(await filter.and(page.locator(":focus")).count(), 1);
  });

  test("as the row with it is deleted, in the row after it", async () => {
    for (const name of ["first", "second", "third"])
      await service.api("POST", "/secret", { name, value: "of this test" });
    await visit(page, service, "/ui/admin/secrets");
    for (const [name, next] of [
      ["second", "Change third"],
      ["third", "Change first"],
    ] as const) {
      await page.getByRole("button", { name: `Delete ${name}` }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: next }).and(page.locator(":focus")).waitFor();
    }
  });

  test("and what a dialog asks is not answered by the key that opened it, while that is held", async () => {
    await service.api("POST", "/secret", { name: "held", value: "of this test" });
    await visit(page, service, "/ui/admin/secrets");
    const remove = page.getByRole("button", { name: "Delete held" });
    const dialog = page.getByRole("dialog");
    await remove.focus();
    await page.keyboard.down("Enter");
    await dialog.waitFor();
    for (let count = 0; count < 3; count += 1) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.equal((await service.api("GET", "/secret/held")).status, 200);
    await remove.focus();
    await page.keyboard.press("Enter");
    await dialog.waitFor();
    await page.keyboard.press("Enter");
    await remove.waitFor({ state: "detached" });
  });

  async function openLive(): Promise<void> {
    await visit(page, service, "/ui/executions");
    await page.locator("#live", { hasText: /^Live/ }).waitFor();
  }

  test("as rows that come push off the row with it, in the one at its place by then", async () => {
    const calls = async (count: number): Promise<void> => {
      for (let at = 0; at < count; at += 1) await call(service, "hello", {});
    };
    await calls(50);
    await openLive();
    const focused = (row: number) => page.locator(`tbody tr:nth-child(${row}) th a:focus`);
    await page.locator("tbody tr:nth-child(49) th a").focus();
    await calls(1);
    await focused(50).waitFor();
    const row = await page.locator("tbody tr").last().getAttribute("data-id");
    await calls(1);
    await page.locator(`[data-id="${row}"]`).waitFor({ state: "detached" });
    await focused(50).waitFor();
  });

  test("unless somebody has left it, who reads on where they are", async () => {
    await openLive();
    const row = page.locator("tbody tr").nth(44);
    await row.locator("th a").focus();
    const pushed = page.locator(`[data-id="${await row.getAttribute("data-id")}"]`);
    await page.mouse.click(60, 700);
    await page.evaluate("scrollTo(0, 0)");
    for (let count = 0; count < 8; count += 1) await call(service, "hello", {});
    await pushed.waitFor({ state: "detached" });
    assert.equal(await page.locator(".list :focus").count(), 0);
    assert.equal(await page.evaluate<number>("scrollY"), 0);
  });

  test("and scrolls nowhere as an answer comes", async () => {
    const { page: narrow } = await openPage(await openWindow(browser, service, { isNarrow: true }));
    const called = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    await narrow.route("**/webhook/hello/call", async (route) => {
      called.resolve();
      await released.promise;
      await route.continue();
    });
    await visit(narrow, service, "/ui/webhooks/hello#try");
    const send = narrow.getByRole("button", { name: "Send" });
    await send.click();
    await called.promise;
    await narrow.evaluate("scrollTo(0, 0)");
    released.resolve();
    await send.and(narrow.locator(":enabled:focus")).waitFor();
    assert.equal(await narrow.evaluate<number>("scrollY"), 0);
    await narrow.context().close();
  });

  /** Types while a list that the fields show has not come yet: focus and text stay as it comes. */
  async function typeBefore(
    list: string,
    open: () => Promise<void>,
    field: Locator,
    isThere: Locator,
  ) {
    const path = new RegExp(`/api/latest/${list}(\\?|$)`);
    const held = Promise.withResolvers<void>();
    await page.route(path, async (route) => {
      await held.promise;
      await route.continue();
    });
    await open();
    await field.fill("typed@example.com");
    assert.equal(await isThere.count(), 0);
    held.resolve();
    await isThere.waitFor();
    await page.unroute(path);
    assert.equal(await field.inputValue(), "typed@example.com");
    assert.equal(await field.and(page.locator(":focus")).count(), 1, "it keeps the focus");
  }

  test("the e-mail of a user, as the roles come", async () => {
    await visit(page, service, "/ui/admin/users");
    const open = () => page.getByRole("button", { name: "Change grace" }).click();
    const dialog = page.getByRole("dialog");
    await typeBefore("role", open, dialog.getByLabel("E-mail"), dialog.getByLabel("viewer"));
  });
});
