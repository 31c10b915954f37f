import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("what was changed and not saved", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  /** Questions of the browser itself, since the last page was visited. */
  let asked: string[] = [];
  let answer: "accept" | "dismiss" = "accept";
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    ({ page } = await openPage(await openWindow(browser, service)));
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      dialog[answer]().catch(() => {});
    });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const dialog = () => page.getByRole("dialog");
  const focused = () => page.evaluate<string>("document.activeElement.textContent");

  async function open(path: string): Promise<void> {
    answer = "accept";
    await visit(page, service, path);
    asked = [];
  }

  /** @returns what the browser asked before it left */
  async function leave(): Promise<readonly string[]> {
    await page.getByRole("link", { name: "Documentation" }).click();
    await page.waitForURL(/\/ui\/docs$/);
    await settled(page);
    return asked;
  }

  test("of a dialog is not lost by Escape, however often", async () => {
    await open("/ui/admin/projects");
    await page.getByRole("button", { name: "Change Shop" }).click();
    await dialog().getByLabel("Description").fill("Typed");
    for (let count = 0; count < 3; count += 1) await page.keyboard.press("Escape");
    await dialog().getByText("What you changed is not saved.").waitFor();
    assert.equal(await dialog().locator(".unsaved").count(), 1);
    assert.equal(await focused(), "Go on");
    await page.keyboard.press("Enter");
    await dialog().locator(".unsaved").waitFor({ state: "detached" });
    assert.equal(await dialog().getByLabel("Description").inputValue(), "Typed");
    assert.equal(
      await dialog()
        .getByLabel("Description")
        .evaluate((field) => field.matches(":focus")),
      true,
    );
    await page.keyboard.press("Escape");
    await dialog().getByRole("button", { name: "Discard it" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    assert.deepEqual(await leave(), []);
  });

  test("is none where nothing is typed, or the same again, or a password alone", async () => {
    await open("/ui/admin/projects");
    const close = async (): Promise<void> => {
      await page.keyboard.press("Escape");
      await page.locator("dialog").waitFor({ state: "detached" });
    };
    const change = () => page.getByRole("button", { name: "Change Shop" }).click();
    await change();
    await close();
    await change();
    const description = dialog().getByLabel("Description");
    const held = await description.inputValue();
    await description.pressSequentially("x");
    await description.fill(held);
    await close();
    await page.goto(`${service.url}/ui/admin/users`);
    await page.getByRole("button", { name: "Delete grace" }).click();
    await dialog().getByLabel("Your password").fill("typed");
    await close();
    assert.deepEqual(await leave(), []);
  });

  test("is a line that was added, and the browser asks before it leaves a dialog", async () => {
    await open("/ui/admin/roles");
    await page.getByRole("button", { name: "Change viewer" }).click();
    await dialog().getByRole("button", { name: "Add a line for one project" }).click();
    await dialog().locator("tbody tr").last().getByRole("checkbox").first().check();
    answer = "dismiss";
    const question = page.waitForEvent("dialog");
    void page.reload().catch(() => {});
    await question;
    assert.ok(await dialog().isVisible());
    await dialog().getByRole("button", { name: "Cancel" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    asked = [];
    assert.deepEqual(await leave(), []);
  });

  test("of a settings form is asked about, until it is saved", async () => {
    await open("/ui/webhooks/hello#limits");
    const methods = page.getByLabel("Methods");
    await methods.fill("POST, nonsense");
    assert.deepEqual(await leave(), ["beforeunload"]);

    await open("/ui/webhooks/hello#limits");
    await methods.fill("POST, nonsense");
    const save = page.locator("#limits").getByRole("button", { name: "Save" });
    await save.click();
    await page.locator("#limits .fault:not(:empty)").first().waitFor();
    assert.deepEqual(await leave(), ["beforeunload"], "it was refused");

    await open("/ui/webhooks/hello#limits");
    await methods.fill("post");
    await save.click();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    assert.deepEqual(await leave(), []);
  });

  test("is asked about by no form that leaves its page once it is saved", async () => {
    await open("/ui/webhooks/in-work#settings");
    await page.getByLabel("Name", { exact: true }).fill("in-work-again");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL(/\/in-work-again#settings$/);
    await settled(page);
    assert.deepEqual(asked, []);

    await open("/ui/admin/users");
    await page.getByRole("button", { name: "Change grace" }).click();
    await dialog().getByLabel("E-mail").fill("g@example.com");
    await dialog().getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog().getByRole("button", { name: "Save" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    assert.deepEqual(await leave(), []);

    await open("/ui/flows/hello#run");
    await page.getByLabel("Input").fill("{}");
    assert.deepEqual(await leave(), [], "nothing is saved there");
  });

  test("is asked about before somebody is signed out, and not after a webhook is gone", async () => {
    await open("/ui/webhooks/status-page#settings");
    await page.getByLabel("Description").fill("Typed");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog().getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/ui\/webhooks$/);
    assert.deepEqual(asked, []);

    await open("/ui/webhooks/hello#settings");
    await page.getByLabel("Description").fill("Typed");
    const signOut = page.getByRole("banner").getByRole("button", { name: "Sign out" });
    await signOut.click();
    await dialog().getByRole("button", { name: "Cancel" }).click();
    assert.equal((await service.api("GET", "/auth/me")).status, 200);
    assert.equal(await page.getByLabel("Description").inputValue(), "Typed");
    await signOut.click();
    await dialog().getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/\/ui\/login$/);
    assert.deepEqual(asked, []);
  });
});
