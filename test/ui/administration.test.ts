import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { poll } from "../blackbox/scenario.ts";
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

describe("administration in the browser", { skip: noBrowser }, () => {
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

  async function read(path: string): Promise<Record<string, unknown>> {
    return (await service.api("GET", path)).body as Record<string, unknown>;
  }

  async function create(noun: string, fields: Record<string, string>): Promise<void> {
    await page.getByRole("button", { name: `New ${noun}` }).click();
    for (const [label, text] of Object.entries(fields))
      await page.getByRole("dialog").getByLabel(label, { exact: true }).fill(text);
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
  }

  test("makes users, and says at the field what is wrong", async () => {
    await visit(page, service, "/ui/admin/users");
    const own = { "Your password": ADMIN_PASSWORD };
    await create("user", { Name: "linus", Password: "short", ...own });
    await page.getByText("Expected at least 12 characters").waitFor();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Password", { exact: true }).fill("a password of linus");
    await dialog.getByLabel("viewer").check();
    await dialog.getByRole("button", { name: "Create" }).click();
    await page.locator("tbody tr", { hasText: "linus" }).waitFor();
    assert.deepEqual((await read("/user/linus"))["roles"], ["viewer"]);
    await page.getByRole("button", { name: "Delete linus" }).click();
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Delete" }).click();
    await page.locator("tbody tr", { hasText: "linus" }).waitFor({ state: "detached" });
  });

  test("H1: asks for the own password where somebody gets or loses access", async () => {
    const dialog = page.getByRole("dialog");
    const own = dialog.getByLabel("Your password");
    const refuse = async (submit: string): Promise<void> => {
      await own.fill("not my password");
      await dialog.getByRole("button", { name: submit }).click();
      await dialog.getByText("This is not your password").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await visit(page, service, "/ui/admin/users");
    await page.getByRole("button", { name: "Change grace" }).click();
    await refuse("Save");
    await page.getByRole("button", { name: "Delete grace" }).click();
    await refuse("Delete");
    await page.getByRole("button", { name: "Change grace" }).click();
    await dialog.getByLabel("E-mail").fill("hopper@example.com");
    await own.fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.equal((await read("/user/grace"))["email"], "hopper@example.com");
    await visit(page, service, "/ui/admin/roles");
    await page.getByRole("button", { name: "Change viewer" }).click();
    await refuse("Save");

    const token = await service.login("grace", "a password of grace");
    await visit(page, service, "/ui/admin/tokens");
    await page.getByLabel("All users").check();
    const end = page.getByRole("button", { name: "End the session of grace" }).first();
    await end.click();
    await own.fill(ADMIN_PASSWORD);
    const released = Promise.withResolvers<void>();
    const list = /\/api\/latest\/token\?/;
    await page.route(list, async (route) => {
      await released.promise;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "End" }).click();
    await dialog.waitFor({ state: "detached" });
    released.resolve();
    await end.waitFor({ state: "detached" });
    await page.unroute(list);
    const me = await service.api("GET", "/auth/me", undefined, { "x-service-token": token });
    assert.equal(me.status, 401);
  });

  test("keeps the roles of a user whose list of roles did not come", async () => {
    const dialog = page.getByRole("dialog");
    await page.route(/\/api\/latest\/role\?/, (route) => route.fulfill({ status: 500 }));
    await visit(page, service, "/ui/admin/users");
    await page.getByRole("button", { name: "Change grace" }).click();
    await dialog.locator(".complaint", { hasText: "The service answered 500" }).waitFor();
    await dialog.getByLabel("E-mail").fill("grace@example.com");
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.unroute(/\/api\/latest\/role\?/);
    const { email, roles } = await read("/user/grace");
    assert.deepEqual({ email, roles }, { email: "grace@example.com", roles: ["operator"] });
  });

  test("says that what is to be changed was deleted meanwhile", async () => {
    const made = await service.api("POST", "/project", { name: "brief" });
    assert.equal(made.status, 201, made.text);
    await visit(page, service, "/ui/admin/projects");
    assert.equal((await service.api("DELETE", "/project/brief")).status, 204);
    await page.getByRole("button", { name: "Change brief" }).click();
    await page.locator(".complaint", { hasText: 'There is no project "brief"' }).waitFor();
  });

  test("saves over what somebody else has changed meanwhile, where that is wanted", async () => {
    await service.api("POST", "/project", { name: "contested" });
    await visit(page, service, "/ui/admin/projects");
    await page.getByRole("button", { name: "Change contested" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Description").fill("Mine");
    await service.api("PATCH", "/project/contested", { description: "Theirs" });
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Somebody else has changed it meanwhile").waitFor();
    assert.equal(await dialog.getByLabel("Description").inputValue(), "Mine");
    await dialog.getByRole("button", { name: "Save over it" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.equal((await read("/project/contested"))["description"], "Mine");
  });

  test("saves over it no more than what was typed", async () => {
    const dialog = page.getByRole("dialog");
    const own_password = ADMIN_PASSWORD;
    const person = { name: "rosa", email: "r@example.com", password: "a password of rosa" };
    await service.api("POST", "/user", { ...person, roles: ["operator"], own_password });
    const saveOver = async (): Promise<void> => {
      await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByRole("button", { name: "Save over it" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await visit(page, service, "/ui/admin/users");
    await page.getByRole("button", { name: "Change rosa" }).click();
    await dialog.getByLabel("E-mail").fill("rosa@example.com");
    const left = { is_enabled: false, roles: [] };
    await service.api("PATCH", "/user/rosa", { ...left, own_password });
    await saveOver();
    assert.partialDeepStrictEqual(await read("/user/rosa"), { email: "rosa@example.com", ...left });

    // In another order than that of the boxes.
    const permissions = ["webhook.read", "execution.read"];
    await service.api("POST", "/role", { name: "watch", permissions, password: own_password });
    await visit(page, service, "/ui/admin/roles");
    await page.getByRole("button", { name: "Change watch" }).click();
    await dialog.getByLabel("Propagates").check();
    const fewer = { permissions: ["execution.read"], password: own_password };
    await service.api("PATCH", "/role/watch", fewer);
    await saveOver();
    const now = {
      propagate: true,
      permissions: [{ permission: "execution.read", project_id: null }],
    };
    const role = await read("/role/watch");
    assert.deepEqual({ propagate: role["propagate"], permissions: role["permissions"] }, now);
  });

  test("makes roles of a table of permissions, also for one project", async () => {
    await visit(page, service, "/ui/admin/roles");
    await page.getByRole("button", { name: "New role" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("shop");
    await dialog.getByLabel("flow read", { exact: true }).check();
    await dialog.getByLabel("Project", { exact: true }).selectOption("Shop");
    await dialog.getByRole("button", { name: "Add a line for one project" }).click();
    await dialog.locator("tbody tr").last().getByLabel("webhook all").check();
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Create" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Change shop" }).waitFor();
    const { permissions } = (await read("/role/shop")) as { permissions: unknown };
    const { id } = await read("/project/Shop");
    assert.deepEqual(permissions, [
      { permission: "flow.read", project_id: null },
      { permission: "webhook.*", project_id: id },
    ]);
  });

  test("breaks long names in a dialog, which is scrolled one way alone", async () => {
    const name = "long".repeat(25);
    const role = { name, permissions: [], password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/project", { name })).status, 201);
    assert.equal((await service.api("POST", "/role", role)).status, 201);
    const dialog = page.getByRole("dialog");
    for (const [path, noun] of [
      ["/ui/admin/users", "user"],
      ["/ui/admin/roles", "role"],
    ] as const) {
      await visit(page, service, path);
      await page.getByRole("button", { name: `New ${noun}` }).click();
      await dialog.getByText(name).first().waitFor({ state: "attached" });
      const over = await dialog.evaluate((of) => of.scrollWidth - of.clientWidth);
      assert.equal(over, 0, noun);
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    await service.api("DELETE", `/project/${name}`);
    await service.api("DELETE", `/role/${name}`, { password: ADMIN_PASSWORD });
  });

  test("keeps the grants of a role whose line is added once more, or is of everything", async () => {
    const { id } = await read("/project/Shop");
    const permissions = [
      { permission: "webhook.read", project_id: id },
      { permission: "*", project_id: id },
    ];
    const made = { name: "keeper", permissions, password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/role", made)).status, 201);
    await visit(page, service, "/ui/admin/roles");
    await page.getByRole("button", { name: "Change keeper" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Project", { exact: true }).selectOption("Shop");
    await dialog.getByRole("button", { name: "Add a line for one project" }).click();
    await dialog.getByLabel("Propagates").check();
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.deepEqual((await read("/role/keeper"))["permissions"], permissions);
  });

  test("shows the configuration without its secret, and what the service does", async () => {
    await visit(page, service, "/ui/admin/configuration");
    const row = page.locator("tbody tr", { hasText: "WAIT_POLL_WINDOW_SEC" });
    assert.match(await row.innerText(), /\s1\s.*flowhook\.yaml:\d+/);
    await page.getByLabel("Only what is not the default").check();
    await page.locator('tr[data-id="RETENTION_DAYS"]').waitFor({ state: "detached" });
    assert.ok(await row.isVisible(), "what was given stays");
    assert.ok(!(await page.content()).includes(ADMIN_PASSWORD));

    await visit(page, service, "/ui/admin/system");
    const text = await page.locator("#page").innerText();
    assert.match(text, /Plugins folder\s+\S+\/plugins/);
    assert.match(text, /Runner 1\s+\d+\s+\d+\s+[\d.]+ MB/);
    assert.match(text, /Database\s+[\d.]+ (kB|MB)/);
  });

  test("has its sections in one line, first what authors use each day", async () => {
    const wide = page.viewportSize();
    await page.setViewportSize({ width: 1300, height: 900 });
    await visit(page, service, "/ui/admin/import");
    const links = page.getByRole("navigation", { name: "Administration" }).getByRole("link");
    const tops = await links.evaluateAll((all) => all.map((link) => link.offsetTop));
    assert.equal(new Set(tops).size, 1);
    assert.deepEqual((await links.allInnerTexts()).slice(0, 2), ["Secrets", "Settings"]);
    if (wide !== null) await page.setViewportSize(wide);
  });

  test("changes projects, settings and secrets", async () => {
    await visit(page, service, "/ui/admin/projects");
    await create("project", { Name: "Office", Description: "Paper" });
    await page.locator("tbody tr", { hasText: "Office" }).waitFor();

    await visit(page, service, "/ui/admin/settings");
    await page.getByRole("button", { name: "Change greeting" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Value").fill('{ "text": "Good morning" }');
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.locator("tbody tr", { hasText: "Good morning" }).waitFor();

    await visit(page, service, "/ui/admin/secrets");
    await create("secret", { Name: "SHOP_TOKEN", Value: "never to be seen" });
    await page.locator("tbody tr", { hasText: "SHOP_TOKEN" }).waitFor();
    assert.ok(!(await page.content()).includes("never to be seen"));
  });

  test("shows who did what", async () => {
    await visit(page, service, "/ui/admin/audit");
    await page.getByLabel("Action").fill("secret.create");
    await page.waitForURL(/action=secret/);
    await page.locator("tbody tr", { hasText: "SHOP_TOKEN" }).waitFor();
    await page.locator("tbody tr", { hasText: "user.create" }).first().waitFor({ state: "hidden" });
    await page.getByLabel("Action").fill("webhook.change");
    const row = page.locator("tbody tr", { hasText: "Greets whoever calls" });
    await row.waitFor();
    const change = (await row.innerText()).replaceAll(/\s+/g, " ");
    assert.match(change, /description: "" → "Greets whoever calls"/);
  });

  test("says what an export carries by the tabs of a webhook", async () => {
    await visit(page, service, "/ui/webhooks/hello");
    const tabs = await page.getByRole("tab").allInnerTexts();
    await visit(page, service, "/ui/admin/import");
    const said = await page.getByText("is carried").innerText();
    for (const tab of ["Settings", "Limits", "Bodies and answers", "Delivery", "Access"]) {
      assert.ok(tabs.includes(tab), tab);
      assert.ok(said.includes(tab), said);
    }
    assert.match(said, /addresses.*signature.*Key and the values of secrets never are/s);
  });

  test("shows what an import would change before it does", async () => {
    const { text } = await service.api("GET", "/export?webhook=hello");
    await visit(page, service, "/ui/admin/import");
    const changed = text.replace("Greets whoever calls", "Greets everybody");
    await page.getByLabel("Document").fill(changed);
    await page.getByLabel("Where a name is taken").selectOption("replace");
    await page.getByRole("button", { name: "Show the difference" }).click();
    await page.getByText("Greets everybody").last().waitFor();
    assert.equal((await read("/webhook/hello"))["description"], "Greets whoever calls");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByRole("heading", { name: "Imported" }).waitFor();
    assert.equal((await read("/webhook/hello"))["description"], "Greets everybody");
    await page.reload();
    await page.getByLabel("Document").fill("webhooks: [");
    await page.getByRole("button", { name: "Show the difference" }).click();
    await page.getByText("is not YAML").waitFor();
  });

  test("keeps the keys of imported webhooks until somebody agrees to lose them", async () => {
    const { text } = await service.api("GET", "/export?webhook=hello");
    const importAs = async (name: string): Promise<void> => {
      await page.getByLabel("Document").fill(text.replaceAll("name: hello", `name: ${name}`));
      await page.getByRole("button", { name: "Show the difference" }).click();
      await page.getByRole("button", { name: "Import", exact: true }).click();
      await done.getByRole("link", { name }).waitFor();
    };
    const done = page.getByRole("region", { name: "Imported webhooks" });
    await visit(page, service, "/ui/admin/import");
    await importAs("first-import");
    const keys = await done.locator("code").allInnerTexts();
    assert.equal(keys.length, 1);
    await importAs("second-import");
    assert.equal((await done.locator("code").allInnerTexts())[1], keys[0]);
    const opening = page.context().waitForEvent("page");
    await done.getByRole("link", { name: "first-import" }).click();
    const other = await opening;
    await other.waitForURL(/\/ui\/webhooks\/first-import$/);
    await other.close();
    const asked: string[] = [];
    page.once("dialog", (dialog) => {
      asked.push(dialog.type());
      dialog.accept().catch(() => {});
    });
    await page.getByRole("link", { name: "Overview" }).click();
    await page.waitForURL(/\/ui\/$/);
    assert.deepEqual(asked, ["beforeunload"]);
  });

  test("shows a viewer only what a viewer may see", async () => {
    const password = "a password of viewer";
    const own_password = ADMIN_PASSWORD;
    await service.api("POST", "/user", { name: "vera", password, roles: ["viewer"], own_password });
    const context = await openStrangeWindow(browser);
    const { page: own, errors } = await openPage(context);
    await own.goto(`${service.url}/ui/webhooks/hello`);
    await logIn(own, "vera", password);
    await own.waitForURL(/\/ui\/webhooks\/hello$/);
    await settled(own);
    await own.getByRole("tab", { name: "Access" }).click();
    assert.equal(await own.getByRole("button", { name: "Disable" }).count(), 0);
    for (const path of ["/ui/", "/ui/webhooks", "/ui/executions", "/ui/flows", "/ui/admin"]) {
      await visit(own, service, path);
      assert.equal(await own.locator("#banner p").count(), 0, path);
    }
    assert.deepEqual(errors, []);
    await context.close();
  });

  test("changes the own password, and says when a session has ended", async () => {
    const password = "a password of grace";
    const next = "another password of grace";
    const context = await openStrangeWindow(browser);
    const { page: own } = await openPage(context);
    await own.goto(`${service.url}/ui/account`);
    await logIn(own, "grace", password);
    await own.waitForURL(/\/ui\/account$/);
    await settled(own);
    await own.getByLabel("Current password").fill(password);
    await own.getByLabel("New password").fill(next);
    await own.getByRole("button", { name: "Change" }).click();
    await own.locator("#notices", { hasText: "changed" }).waitFor();
    await own.getByLabel("Current password").and(own.locator(":focus")).waitFor();

    await visit(own, service, "/ui/new-webhook?flow=hello");
    await own.getByLabel("Name", { exact: true }).fill("kept");
    await service.api("PATCH", "/user/grace", {
      password: "a third password of grace",
      own_password: ADMIN_PASSWORD,
    });
    await own.getByRole("button", { name: "Create" }).click();
    await own.locator("#banner", { hasText: "Your session has ended" }).waitFor();
    assert.equal(await own.getByLabel("Name", { exact: true }).inputValue(), "kept");
    await own.reload();
    await own.getByText("Your session has ended").waitFor();
    await logIn(own, "grace", "a third password of grace");
    await own.waitForURL(/\/ui\/new-webhook\?flow=hello$/);

    // In a dialog, which covers the page: the same act can be sent again after the next login.
    const dialog = own.getByRole("dialog");
    await visit(own, service, "/ui/webhooks/slow#access");
    await own.getByRole("button", { name: "Disable" }).click();
    const fourth = "a fourth password of grace";
    await service.api("PATCH", "/user/grace", { password: fourth, own_password: ADMIN_PASSWORD });
    await dialog.getByLabel("Your password").fill(fourth);
    await dialog.getByRole("button", { name: "Disable" }).click();
    const opened = context.waitForEvent("page");
    await dialog.getByRole("link", { name: "Sign in again" }).click();
    const door = await opened;
    await logIn(door, "grace", fourth);
    await door.waitForURL(/\/ui\/webhooks\/slow$/);
    await door.close();
    await dialog.getByRole("button", { name: "Disable" }).click();
    await own.locator("#badges", { hasText: "Disabled" }).waitFor();
    assert.equal(await own.locator(".session-end").count(), 0, "it says so no more");
    await own.getByRole("button", { name: "Sign out" }).click();
    await own.waitForURL(/\/ui\/login$/);
    await context.close();
  });

  test("changes nothing as who has signed in in another tab, and says who that is", async () => {
    const password = "a password of otto";
    const own_password = ADMIN_PASSWORD;
    await service.api("POST", "/user", { name: "otto", password, roles: ["admin"], own_password });
    const context = await openWindow(browser, service);
    const { page: own } = await openPage(context);
    await visit(own, service, "/ui/webhooks/hello#settings");
    const before = (await read("/webhook/hello"))["description"];
    const { page: other } = await openPage(context);
    await other.goto(`${service.url}/ui/login?next=/ui/flows`);
    await logIn(other, "otto", password);
    await other.waitForURL(/\/ui\/flows$/);

    const said = own.locator("#banner .session-other");
    await own.getByLabel("Description").fill("As otto");
    await own.getByRole("button", { name: "Save" }).click();
    await said.getByText("signed in as otto in another tab, so this page of admin").waitFor();
    await own.locator(".form-fault", { hasText: "nothing was done" }).waitFor();
    assert.equal((await read("/webhook/hello"))["description"], before);
    await own.getByRole("tab", { name: "Try it" }).click();
    await own.getByRole("button", { name: "Send" }).click();
    await own.locator("#try .fault", { hasText: "nothing was done" }).waitFor();

    // What was typed is not saved, so it asks first.
    await own.getByRole("button", { name: "Sign out" }).click();
    const dialog = own.getByRole("dialog");
    await dialog.getByRole("button", { name: "Sign out" }).click();
    await dialog.getByText("nothing was done").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await said.count(), 1);
    await said.getByRole("button", { name: "Load it again" }).click();
    await own.locator("header", { hasText: "otto" }).waitFor();
    await settled(own);

    await context.addCookies([
      { name: "service-token", value: service.token(), url: service.url, httpOnly: true },
    ]);
    await own.evaluate("dispatchEvent(new Event('focus'))");
    await said.getByText("signed in as admin").waitFor();
    await other.goto(`${service.url}/ui/login`);
    await logIn(other, "otto", password);
    await other.waitForURL(/\/ui\/$/);
    await own.evaluate("dispatchEvent(new Event('focus'))");
    await said.waitFor({ state: "detached" });
    await context.close();
  });

  test("signs out also where the session has ended already", async () => {
    const context = await openWindow(browser, service);
    const { page: own } = await openPage(context);
    await visit(own, service, "/ui/flows");
    await context.clearCookies();
    await own.getByRole("button", { name: "Sign out" }).click();
    await own.waitForURL(/\/ui\/login$/);
    await context.close();
  });
});

test("the user interface works below a path prefix", { skip: noBrowser }, async () => {
  await using opened = new AsyncDisposableStack();
  const service = opened.adopt(await openWorkshop("/flows"), async (own) => {
    await own.stop();
  });
  const browser = opened.adopt(await openBrowser(), (own) => own.close());
  const { page, errors } = await openPage(await openWindow(browser, service));
  await visit(page, service, "/ui/webhooks");
  await page.locator("tbody th a", { hasText: /^hello$/ }).click();
  await settled(page);
  await page.getByRole("tab", { name: "Try it" }).click();
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("link", { name: "Open its execution" }).click();
  await page.waitForURL(/\/flows\/ui\/executions\//);
  await settled(page);
  await page.getByRole("button", { name: "Theme" }).click();
  // The cookie is kept by another process, which may be asked for the page before.
  await poll("the cookie of the theme", async () => {
    const cookies = await page.context().cookies(page.url());
    return cookies.some(({ name }) => name === "flowhook-theme") ? true : null;
  });
  await page.reload();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.deepEqual(errors, []);
});
