import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

/** Each waits until a form lets go, in a window of its own. */
const AT_ONCE = { skip: noBrowser, concurrency: true };

describe("an answer that comes after it was given up", AT_ONCE, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function open(path: string) {
    const { page } = await openPage(await openWindow(browser, service));
    await visit(page, service, path);
    const dialog = page.getByRole("dialog");
    const button = (name: string) => dialog.getByRole("button", { name, exact: true });
    return { page, dialog, button, unanswered: page.getByText("No answer yet") };
  }

  /** Holds back the answers of what a page changes, by the order in which it was sent. */
  async function holdBack(page: Page, path: string) {
    const holds = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
    let count = 0;
    await page.route(path, async (route) => {
      if (route.request().method() === "GET") return route.continue();
      const response = await route.fetch();
      await holds[count++]?.promise;
      await route.fulfill({ response });
    });
    return (at: number) => holds[at]?.resolve();
  }

  test("is in the list behind a dialog that was left", async () => {
    const { page, dialog, button, unanswered } = await open("/ui/admin/projects");
    const release = await holdBack(page, "**/api/latest/project");
    await page.getByRole("button", { name: "New project" }).click();
    await dialog.getByLabel("Name").fill("Late");
    await button("Create").click();
    await unanswered.waitFor();
    await button("Cancel").click();
    await dialog.waitFor({ state: "detached" });
    release(0);
    await page.locator("#notices", { hasText: "Created" }).waitFor();
    await page.getByRole("rowheader", { name: "Late" }).waitFor();
  });

  test("is told where its dialog is still open", async () => {
    const { page, dialog, button, unanswered } = await open("/ui/admin/projects");
    const release = await holdBack(page, "**/api/latest/project");
    await page.getByRole("button", { name: "New project" }).click();
    await dialog.getByLabel("Name").fill("Tardy");
    await button("Create").click();
    await unanswered.waitFor();
    release(0);
    await page.locator("#notices", { hasText: "Created" }).waitFor();
    assert.equal(await dialog.count(), 0);
  });

  test("is told where it refuses what was left", async () => {
    const { page, dialog, button, unanswered } = await open("/ui/admin/projects");
    const release = await holdBack(page, "**/api/latest/project");
    await page.getByRole("button", { name: "New project" }).click();
    await dialog.getByLabel("Name").fill("Shop");
    await button("Create").click();
    await unanswered.waitFor();
    await button("Cancel").click();
    release(0);
    await page.locator(".complaint", { hasText: "Shop" }).waitFor();
  });

  test("shows the key that it made, until that is read, over what is open by then", async () => {
    const path = "**/api/latest/webhook/hello/authentication";
    const { page, dialog, button, unanswered } = await open("/ui/webhooks/hello#access");
    const release = await holdBack(page, path);
    await page.getByRole("button", { name: "Set a key" }).click();
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await button("Set a key").click();
    await unanswered.waitFor();
    await button("Cancel").click();
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("?");
    const other = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await other.waitFor();
    release(0);
    const made = page.getByRole("dialog", { name: "Set a key" });
    await made.getByText(/^curl/).waitFor();
    await made.locator(".result:focus").waitFor();
    for (let count = 0; count < 3; count += 1) await page.keyboard.press("Escape");
    await made.getByText(/^fhk_/).waitFor();
    await made.getByRole("button", { name: "Close" }).click();
    await made.waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await other.waitFor({ state: "detached" });
  });

  test("that refuses what somebody else was faster with blames nothing that was sent before", async () => {
    await service.api("POST", "/project", { name: "Fleet" });
    const { page, dialog, button, unanswered } = await open("/ui/admin/projects");
    const release = await holdBack(page, "**/api/latest/project/Fleet");
    await page.getByRole("button", { name: "Change Fleet" }).click();
    await dialog.getByLabel("Description").fill("Mine");
    await service.api("PATCH", "/project/Fleet", { description: "Theirs" });
    await button("Save").click();
    await unanswered.waitFor();
    release(0);
    await dialog.getByText("Somebody else has changed it meanwhile").waitFor();
  });

  test("leaves a dialog open that was sent again, and is not said to be somebody else's", async () => {
    const path = "**/api/latest/project/Shop";
    const { page, dialog, button, unanswered } = await open("/ui/admin/projects");
    const release = await holdBack(page, path);
    await page.getByRole("button", { name: "Change Shop" }).click();
    const description = dialog.getByLabel("Description");
    await description.fill("First");
    await button("Save").click();
    await unanswered.waitFor();
    await description.fill("Second");
    await button("Save").click();
    const read = page.waitForResponse(/\/project\?limit=/);
    release(0);
    await read;
    release(1);
    await dialog.getByText("by what you sent before").waitFor();
    assert.equal(await description.inputValue(), "Second");
    await button("Save over it").click();
    await dialog.waitFor({ state: "detached" });
    const { body } = await service.api("GET", "/project/Shop");
    assert.partialDeepStrictEqual(body, { description: "Second" });
  });
});
