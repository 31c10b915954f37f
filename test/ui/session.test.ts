import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import {
  logIn,
  noBrowser,
  openBrowser,
  openPage,
  openStrangeWindow,
  openWindow,
  settled,
  visit,
} from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

const PASSWORD = "a password of otto";

/** What has the focus, where it begins, and where the lines at the top of the window end, in pixels. */
interface Used {
  readonly tag: string;
  readonly top: number;
  readonly edge: number;
}

const USED = `({
  tag: document.activeElement.tagName,
  top: document.activeElement.getBoundingClientRect().top,
  edge: document.querySelector("#banner").getBoundingClientRect().bottom,
})`;

describe("who is signed in", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    const otto = { name: "otto", password: PASSWORD, roles: ["admin"] };
    const made = await service.api("POST", "/user", { ...otto, own_password: ADMIN_PASSWORD });
    assert.equal(made.status, 201, made.text);
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  /** Comes back to the page, which asks who is signed in now. */
  async function comeBack(page: Page): Promise<void> {
    const answered = page.waitForEvent("requestfinished", (of) => of.url().endsWith("/auth/me"));
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await answered;
  }

  test("is nobody after the session has ended, which is seen where it is found out", async () => {
    const context = await openWindow(browser, service);
    const { page } = await openPage(context);
    await visit(page, service, "/ui/webhooks/hello#settings");
    await page.setViewportSize({ width: 1280, height: 500 });
    await context.clearCookies();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".form-fault", { hasText: "Your session has ended" }).waitFor();
    const again = page.locator("#banner").getByRole("link", { name: "Sign in again" });
    const { y } = (await again.boundingBox()) ?? { y: -1 };
    assert.ok(y > 0 && y < 500, `the link is at ${y}`);
    assert.ok((await page.evaluate<number>("scrollY")) > 0);
    const used = () => page.evaluate<Used>(USED);
    for (let now = await used(); now.tag !== "A"; now = await used()) {
      assert.ok(now.top >= now.edge, `${now.tag} is at ${now.top}, the line ends at ${now.edge}`);
      await page.keyboard.press("Shift+Tab");
    }
    await context.close();
  });

  test("is nobody, which is said once where something could not be read", async () => {
    const context = await openWindow(browser, service);
    const { page } = await openPage(context);
    await visit(page, service, "/ui/admin/projects");
    await context.clearCookies();
    await page.getByRole("button", { name: "Change Shop" }).click();
    await page.locator("#banner .session-end").waitFor();
    assert.equal(await page.locator("#banner > *").count(), 1);
    await context.close();
  });

  test("comes back to the part of the page that was asked for, also after a wrong password", async () => {
    const context = await openStrangeWindow(browser);
    const { page } = await openPage(context);
    await page.goto(`${service.url}/ui/webhooks/hello#access`);
    await logIn(page, "otto", "not the password");
    await page.getByRole("alert").getByText("is wrong").waitFor();
    await logIn(page, "otto", PASSWORD);
    await page.waitForURL(/\/ui\/webhooks\/hello#access$/);
    await page.getByRole("button", { name: "Set a key" }).waitFor();
    await context.close();
  });

  test("is told from others once, in a line that stays where it is used", async () => {
    const context = await openWindow(browser, service);
    const { page } = await openPage(context);
    await visit(page, service, "/ui/webhooks/hello#settings");
    const { page: other } = await openPage(context);
    await other.goto(`${service.url}/ui/login`);
    await logIn(other, "otto", PASSWORD);
    await other.waitForURL(/\/ui\/$/);
    await comeBack(page);
    const again = page.locator("#banner").getByRole("button", { name: "Load it again" });
    await again.focus();
    await page.evaluate("document.activeElement.dataset.first = ''");
    await comeBack(page);
    await page.getByRole("button", { name: "Save" }).evaluate((save) => save.click());
    await page.locator(".form-fault", { hasText: "nothing was done" }).waitFor();
    assert.equal(await again.getAttribute("data-first"), "", "the line is the same");
    assert.ok(await again.evaluate((button) => button.matches(":focus")));
    await page.keyboard.press("Enter");
    await page.locator("header", { hasText: "otto" }).waitFor();
    await context.close();
  });

  test("is the same one with a new name, in every tab", async () => {
    const context = await openStrangeWindow(browser);
    const { page } = await openPage(context);
    await page.goto(`${service.url}/ui/webhooks/hello`);
    await logIn(page, "otto", PASSWORD);
    await page.waitForURL(/\/ui\/webhooks\/hello/);
    await settled(page);
    const { page: users } = await openPage(context);
    await visit(users, service, "/ui/admin/users");
    const dialog = users.getByRole("dialog");
    await users.getByRole("button", { name: "Change otto" }).click();
    await dialog.getByLabel("Name", { exact: true }).fill("otilia");
    await dialog.getByLabel("Your password").fill(PASSWORD);
    await dialog.getByRole("button", { name: "Save" }).click();
    await users.locator("tbody tr", { hasText: "otilia" }).waitFor();

    for (const own of [users, page]) await comeBack(own);
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByLabel("Description").fill("As otilia");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    assert.equal(await page.locator(".session-other").count(), 0);
    await users.getByRole("button", { name: "Sign out" }).click();
    await users.waitForURL(/\/ui\/login$/);
    await context.close();
  });
});
