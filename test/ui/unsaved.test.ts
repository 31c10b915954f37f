import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page, Route } from "playwright-core";
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

  /** A change waits on its way to the service until it is released, or is lost there. */
  async function holdBack(
    url: string,
    isLost = false,
  ): Promise<{ asked: Promise<void>; release: () => void }> {
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const hold = async (route: Route): Promise<void> => {
      if (route.request().method() === "GET") return route.fallback();
      asked.resolve();
      await released.promise;
      await (isLost ? route.abort() : route.continue());
      await page.unroute(url, hold);
    };
    await page.route(url, hold);
    return { asked: asked.promise, release: released.resolve };
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
      await dialog().waitFor();
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
    await save.press("Enter");
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    await save.and(page.locator(":focus:enabled")).waitFor();
    assert.deepEqual(await leave(), []);
  });

  test("is also the key of a new webhook, until it was copied", async () => {
    const create = async (name: string): Promise<void> => {
      await open("/ui/new-webhook?flow=hello");
      await page.getByLabel("Name", { exact: true }).fill(name);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText(/^fhk_/).waitFor();
    };
    await create("key-lost");
    assert.deepEqual(await leave(), ["beforeunload"]);

    const steps = page.locator(".step");
    const copy = steps.nth(1).getByRole("button", { name: "Copy" }).first();
    await create("key-kept");
    await steps.first().getByRole("button", { name: "Copy" }).click();
    await page.locator("#notices", { hasText: "Copied" }).waitFor();
    assert.deepEqual(await leave(), ["beforeunload"], "its URL is not its key");

    await create("key-kept-again");
    await copy.click();
    await page.locator("#notices", { hasText: "Copied" }).waitFor();
    assert.deepEqual(await leave(), []);

    await create("key-by-hand");
    await page.getByText(/^fhk_/).selectText();
    await page.keyboard.press("Control+C");
    assert.deepEqual(await leave(), []);
  });

  /** @returns after the browser has asked before it loads the page again, and was answered no */
  async function stayHere(): Promise<void> {
    answer = "dismiss";
    const question = page.waitForEvent("dialog");
    void page.reload().catch(() => {});
    await question;
    answer = "accept";
    asked = [];
  }

  test("is also a key that is on its way, or was not read yet", async () => {
    await open("/ui/webhooks/notification#access");
    await page.getByRole("button", { name: "Replace the key" }).click();
    await dialog().getByLabel("Your password").fill(ADMIN_PASSWORD);
    const replacing = await holdBack("**/api/latest/webhook/notification/authentication");
    await dialog().getByRole("button", { name: "Replace the key" }).click();
    await replacing.asked;
    await stayHere();
    replacing.release();
    await dialog().getByText("This is shown once").waitFor();
    await stayHere();
    await dialog().getByRole("button", { name: "Close" }).click();
    await page.locator("dialog").waitFor({ state: "detached" });
    assert.deepEqual(await leave(), []);

    await open("/ui/new-webhook?flow=hello");
    await page.getByLabel("Name", { exact: true }).fill("key-on-its-way");
    const creating = await holdBack("**/api/latest/webhook");
    await page.getByRole("button", { name: "Create" }).click();
    await creating.asked;
    await stayHere();
    creating.release();
    await page.getByText(/^fhk_/).waitFor();

    const { text } = await service.api("GET", "/export?webhook=key-on-its-way");
    await service.api("DELETE", "/webhook/key-on-its-way");
    await open("/ui/admin/import");
    await page.getByLabel("Document").fill(text);
    await page.getByRole("button", { name: "Show the difference" }).click();
    const imports = page.getByRole("button", { name: "Import", exact: true });
    await imports.waitFor();
    const importing = await holdBack("**/api/latest/import?*");
    await imports.click();
    await importing.asked;
    await stayHere();
    importing.release();
    await page.getByText(/^fhk_/).waitFor();
    assert.deepEqual(await leave(), ["beforeunload"]);
  });

  test("of a tab that is left is kept in it, and told at its name", async () => {
    const tab = (name: string) => page.getByRole("tab", { name, exact: true });
    await open("/ui/webhooks/hello#settings");
    const description = page.getByLabel("Description");
    await description.fill("Kept");
    await tab("Limits").click();
    await tab("Settings not saved").waitFor();
    assert.deepEqual(await leave(), ["beforeunload"]);

    await open("/ui/webhooks/hello#settings");
    await description.fill("Kept");
    await tab("Limits").click();
    await tab("Settings not saved").click();
    await tab("Settings").waitFor();
    assert.equal(await description.inputValue(), "Kept");
    const hold = await holdBack("**/api/latest/webhook/hello");
    await page.locator("#settings").getByRole("button", { name: "Save" }).click();
    await hold.asked;
    await description.fill("Kept, and typed on");
    await tab("Limits").click();
    await tab("Settings not saved").click();
    await description.fill("Kept");
    await tab("Limits").click();
    hold.release();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    assert.equal(await page.getByText("not saved").count(), 0);
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

  test("is also what was typed while a form was being saved", async () => {
    const hold = await holdBack("**/api/latest/webhook/hello");
    await open("/ui/webhooks/hello#settings");
    const name = page.getByLabel("Name", { exact: true });
    const description = page.getByLabel("Description");
    const location = page.getByLabel("Execution location");
    const isProductive = page.getByLabel("Is productive");
    await description.fill("Sent");
    await isProductive.uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await hold.asked;
    await description.fill("Sent, and typed on");
    await name.fill("typed-meanwhile");
    await isProductive.check();
    await location.selectOption("Flow");
    hold.release();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    await page.getByRole("button", { name: "Save", disabled: false }).waitFor();
    assert.equal(await description.inputValue(), "Sent, and typed on");
    assert.equal(await name.inputValue(), "typed-meanwhile");
    assert.equal(await location.inputValue(), "flow");
    assert.ok(await isProductive.isChecked());
    const { body } = await service.api("GET", "/webhook/hello");
    assert.partialDeepStrictEqual(body, { description: "Sent", is_productive: false });
    await description.fill("Sent");
    await name.fill("hello");
    await location.selectOption("Webhook");
    await isProductive.uncheck();
    assert.deepEqual(await leave(), [], "as it was sent again");

    await open("/ui/webhooks/hello#settings");
    await isProductive.check();
    const again = await holdBack("**/api/latest/webhook/hello");
    await page.getByRole("button", { name: "Save" }).click();
    await again.asked;
    await description.fill("Typed meanwhile");
    again.release();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    assert.deepEqual(await leave(), ["beforeunload"]);
  });

  test("is typed on where it was begun, and can be undone, after a form was saved", async () => {
    await open("/ui/webhooks/hello#settings");
    const description = page.getByLabel("Description");
    // The answer draws what it says of the field at first, and nothing the second time.
    for (const isDrawn of [true, false]) {
      const hold = await holdBack("**/api/latest/webhook/hello");
      if (isDrawn) await description.fill("world");
      await page.getByRole("button", { name: "Save" }).click();
      await hold.asked;
      await description.press("Control+Home");
      await page.keyboard.type("Hello ");
      hold.release();
      await page.getByRole("button", { name: "Save", disabled: false }).waitFor();
      await page.keyboard.type("my ");
      assert.equal(await description.inputValue(), "Hello my world", `drawn: ${isDrawn}`);
      await page.keyboard.press("Control+Z");
      assert.equal(await description.inputValue(), "world", `drawn: ${isDrawn}`);
    }
    assert.deepEqual(await leave(), [], "as it was sent");
  });

  test("stays in its dialog while it is being saved, whatever is pressed", async () => {
    await open("/ui/admin/projects");
    await page.getByRole("button", { name: "Change Shop" }).click();
    const description = dialog().getByLabel("Description");
    const save = dialog().getByRole("button", { name: "Save" });
    await description.fill("Refused at first");
    for (const isRefused of [true, false]) {
      const hold = await holdBack("**/api/latest/project/Shop", isRefused);
      await description.press("Control+Enter");
      await hold.asked;
      await page.keyboard.type("lost");
      for (let count = 0; count < 3; count += 1) await page.keyboard.press("Escape");
      assert.ok(await dialog().getByRole("button", { name: "Cancel" }).isDisabled());
      assert.equal(await dialog().locator(".unsaved").count(), 0);
      hold.release();
      if (!isRefused) break;
      await dialog().getByText("The service cannot be reached").waitFor();
      await save.and(page.locator(":enabled")).waitFor();
      assert.equal(await description.and(page.locator(":focus")).count(), 1);
    }
    await page.locator("dialog").waitFor({ state: "detached" });
    const { body } = await service.api("GET", "/project/Shop");
    assert.partialDeepStrictEqual(body, { description: "Refused at first" });
    assert.deepEqual(await leave(), []);
  });

  test("can be left, or saved again, where no answer comes", async () => {
    await open("/ui/admin/projects");
    await page.getByRole("button", { name: "Change Shop" }).click();
    const description = dialog().getByLabel("Description");
    await description.fill("Never answered");
    const lost = await holdBack("**/api/latest/project/Shop", true);
    await description.press("Control+Enter");
    await lost.asked;
    await dialog().getByRole("alert").getByText("No answer yet").waitFor();
    assert.ok(await dialog().getByRole("button", { name: "Cancel" }).isEnabled());
    assert.equal(await description.and(page.locator(":focus")).count(), 1);
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    lost.release();

    await open("/ui/webhooks/hello#limits");
    const hold = await holdBack("**/api/latest/webhook/hello");
    await page.getByLabel("Methods").fill("PATCH");
    const limits = page.locator("#limits");
    await limits.getByRole("button", { name: "Save" }).click();
    await limits.getByText("No answer yet").waitFor();
    assert.ok(await limits.getByRole("button", { name: "Save" }).isEnabled());
    hold.release();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    await limits.getByText("No answer yet").waitFor({ state: "detached" });
    assert.deepEqual(await leave(), [], "it was saved after all");
  });

  test("is nothing that the page itself has filled in", async () => {
    await open("/ui/webhooks/hello#limits");
    const methods = page.getByLabel("Methods");
    await methods.focus();
    const others = { methods: ["PUT"], is_productive: false };
    await service.api("PATCH", "/webhook/hello", others);
    // Of itself, without anything that is done here.
    await page.locator("#badges", { hasText: "Development" }).waitFor();
    assert.equal(await methods.inputValue(), "PUT");
    assert.equal(await methods.and(page.locator(":focus")).count(), 1);
    assert.deepEqual(await leave(), []);
  });

  test("is not replaced by what a change in another tab brings, nor saved over it", async () => {
    const limits = page.locator("#limits");
    const save = limits.getByRole("button", { name: "Save", exact: true });
    const methods = page.getByLabel("Methods");
    const sentBy = async (button: Locator): Promise<number> => {
      const answer = page.waitForResponse((response) => response.request().method() === "PATCH");
      await button.click();
      return (await answer).status();
    };
    const change = async (): Promise<void> => {
      await page.getByRole("tab", { name: "Settings" }).click();
      const settings = page.locator("#settings");
      await settings.getByLabel("Description").fill("Of another tab");
      await settings.getByRole("button", { name: "Save", exact: true }).click();
      await page.locator("#notices", { hasText: "Saved" }).waitFor();
      await page.getByRole("tab", { name: "Limits" }).click();
    };
    const before = { methods: ["POST"], max_body_bytes: 1000, is_productive: true };
    await service.api("PATCH", "/webhook/hello", before);
    await open("/ui/webhooks/hello#limits");
    await methods.fill("GET");
    const others = { methods: ["PUT"], max_body_bytes: 2000, is_productive: false };
    await service.api("PATCH", "/webhook/hello", others);
    await page.locator("#badges", { hasText: "Development" }).waitFor();
    await change();
    assert.equal(await methods.inputValue(), "GET");
    await save.click();
    await limits.getByText("Somebody else has changed it meanwhile").waitFor();
    assert.equal(await methods.inputValue(), "GET");
    assert.equal(await sentBy(limits.getByRole("button", { name: "Save over it" })), 200);
    await save.and(page.locator(":enabled")).waitFor();
    const { body } = await service.api("GET", "/webhook/hello");
    assert.partialDeepStrictEqual(body, { methods: ["GET"], max_body_bytes: 2000 });
    assert.equal(await page.getByLabel("Largest body in bytes").inputValue(), "2000");

    await open("/ui/webhooks/hello#limits");
    await methods.fill("DELETE");
    await change();
    assert.equal(await sentBy(save), 200, "nobody else has changed it");
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
