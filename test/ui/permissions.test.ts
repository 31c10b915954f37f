import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openStrangeWindow, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("what somebody may do decides what the pages offer", { skip: noBrowser }, () => {
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

  /** The page of somebody with a role of their own, of these permissions. */
  async function openAs(name: string, permissions: readonly unknown[]): Promise<Page> {
    const role = { name, permissions, password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/role", role)).status, 201);
    const password = `a password of ${name}`;
    const user = { name, password, roles: [name], own_password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/user", user)).status, 201);
    const context = await openStrangeWindow(browser);
    const value = await service.login(name, password);
    await context.addCookies([{ name: "service-token", value, url: service.url, httpOnly: true }]);
    return (await openPage(context)).page;
  }

  const administration = (page: Page) => page.getByRole("link", { name: "Administration" });

  const sections = (page: Page) =>
    page.getByRole("navigation", { name: "Administration" }).getByRole("link").allInnerTexts();

  test("the administration is there for whom one of its sections is", async () => {
    const wanted = [
      ["webhook.read", ["Tokens", "Import, export"]],
      ["bundle.read", ["Bundles", "Tokens"]],
    ] as const;
    for (const [permission, labels] of wanted) {
      const page = await openAs(permission, [permission]);
      await visit(page, service, "/ui/");
      await administration(page).click();
      await page.waitForURL(/\/ui\/admin$/);
      await page.getByRole("heading", { name: "Administration" }).waitFor();
      assert.deepEqual(await sections(page), labels);
      await page.context().close();
    }
    const other = await openAs("execution.read", ["execution.read"]);
    await visit(other, service, "/ui/");
    assert.equal(await administration(other).count(), 0);
    await visit(other, service, "/ui/admin/users");
    await other.getByText("Your roles do not show this section").waitFor();
    await visit(other, service, "/ui/executions");
    const search = other.getByLabel("Search", { exact: true });
    await search.fill("project:Shop");
    await search.press("Enter");
    await other.locator(".complaint", { hasText: "project.read" }).waitFor();
    await other.context().close();
  });

  test("a section that there is not is a page that is not there", async () => {
    const page = await openAs("nobody", []);
    const answer = await page.goto(`${service.url}/ui/admin/nonsense`);
    assert.equal(answer?.status(), 404);
    await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    assert.equal((await page.goto(`${service.url}/ui/admin/users`))?.status(), 200);
    await page.context().close();
  });

  test("a webhook is created by whom creating is allowed, also without a list of flows", async () => {
    const page = await openAs("maker", ["webhook.write"]);
    await visit(page, service, "/ui/");
    await page.getByRole("link", { name: "New webhook" }).click();
    await page.getByLabel("Flow", { exact: true }).fill("hello");
    await page.getByLabel("Name", { exact: true }).fill("made-without-flows");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Its URL" }).waitFor();
    assert.equal(await page.locator("#banner p").count(), 0);
    await page.context().close();
    const reader = await openAs("reader", ["webhook.read", "flow.read"]);
    await visit(reader, service, "/ui/webhooks");
    assert.equal(await reader.getByRole("link", { name: "New webhook" }).count(), 0);
    await visit(reader, service, "/ui/new-webhook");
    await reader.getByText("Your roles do not create webhooks").waitFor();
    await reader.context().close();
  });

  test("a webhook is created in the one project where creating is allowed", async () => {
    const { body } = await service.api("GET", "/project/Shop");
    const { id: project_id } = body as { id: string };
    const own = ["webhook.read", "webhook.write", "execution.start"];
    const permissions = own.map((permission) => ({ permission, project_id }));
    const page = await openAs("shopkeeper", permissions);
    await visit(page, service, "/ui/new-webhook?flow=hello");
    await page.getByLabel("Flow", { exact: true }).fill("hello");
    await page.getByLabel("Name", { exact: true }).fill("of-the-shop");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Its URL" }).waitFor();
    const made = (await service.api("GET", "/webhook/of-the-shop")).body;
    assert.equal((made as { project_id: string }).project_id, project_id);
    await page.context().close();
    // What is started without a webhook belongs to Default.
    const starter = await openAs("starter", ["flow.read", permissions[2]]);
    await visit(starter, service, "/ui/flows/hello#run");
    await starter.getByText("Your roles do not start flows without a webhook").waitFor();
    await starter.context().close();
  });
});
