import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import type { Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("lists in the browser", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  let errors: string[];
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    ({ page, errors } = await openPage(await openWindow(browser, service)));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  test("stay on their page, with the focus, as something on it is changed or deleted", async () => {
    const names = Array.from({ length: 53 }, (_, at) => `zz-${String(at).padStart(2, "0")}`);
    for (const name of names) await service.api("POST", "/secret", { name, value: "of this test" });
    await visit(page, service, "/ui/admin/secrets");
    await page.getByRole("button", { name: "Next" }).click();
    const change = page.getByRole("button", { name: "Change zz-52" });
    const dialog = page.getByRole("dialog");
    const submit = async (name: string): Promise<void> => {
      const read = page.waitForResponse(/\/secret\?/);
      await dialog.getByRole("button", { name }).click();
      await dialog.waitFor({ state: "detached" });
      await (await read).finished();
      await page.locator(".list:not([aria-busy])").waitFor();
    };
    await change.click();
    await dialog.getByLabel("New value").fill("another");
    await submit("Save");
    await change.and(page.locator(":focus")).waitFor();
    await page.getByRole("button", { name: "Delete zz-51" }).click();
    await submit("Delete");
    await change.and(page.locator(":focus")).waitFor();
    assert.equal(await page.getByRole("rowheader", { name: "zz-51" }).count(), 0);
    for (const name of names) await service.api("DELETE", `/secret/${name}`);
  });

  test("are on the same page, scrolled as they were, when somebody comes back to them", async () => {
    // The list asks for fifty; the test's service has fewer, so the answer is cut short here.
    await page.route(/\/execution\?/, (route) =>
      route.continue({ url: route.request().url().replace("limit=50", "limit=3") }),
    );
    await page.setViewportSize({ width: 1000, height: 300 });
    const first = page.locator("tbody tr").first();
    const turn = async (name: string): Promise<void> => {
      const before = await first.getAttribute("data-id");
      await page.getByRole("button", { name }).click();
      await page.locator(`tbody tr[data-id="${before}"]`).waitFor({ state: "detached" });
    };
    await visit(page, service, "/ui/executions");
    await turn("Next");
    await turn("Next");
    const ids = () =>
      page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset["id"]));
    const third = await ids();
    await page.evaluate("scrollTo({ top: 120 })");
    await page.locator("tbody th a").last().click();
    await page.waitForURL(/\/ui\/executions\/./);
    await settled(page);
    await page.goBack();
    await settled(page);
    assert.deepEqual(await ids(), third);
    assert.equal(await page.evaluate("scrollY"), 120);
    await page.reload();
    await settled(page);
    assert.deepEqual(await ids(), third, "a reload too");
    const asked = (then: (route: Route) => Promise<void>) =>
      page.route(/\/execution\?/, then, { times: 1 });
    const held = page.waitForRequest(/\/execution\?/);
    await asked(async () => {});
    await page.reload();
    await held;
    await page.reload();
    await settled(page);
    assert.deepEqual(await ids(), third, "one before the list was there too");
    await asked((route) => route.abort());
    await page.reload();
    await first.waitFor();
    await settled(page);
    assert.deepEqual(await ids(), third, "and where it could not be read at first");
    assert.match(errors.splice(0).join("\n"), /ERR_FAILED/);
    await turn("Back");
    await turn("Back");
    assert.ok(await page.getByRole("button", { name: "Back" }).isDisabled());
    const newest = await ids();
    await turn("Next");
    // Nothing is left on that page.
    await asked((route) =>
      route.continue({ url: `${route.request().url()}&to=2000-01-01T00:00:00.000Z` }),
    );
    await page.reload();
    await first.waitFor();
    assert.deepEqual(await ids(), newest, "the first page is");
    await turn("Next");
    await page.getByRole("button", { name: "Succeeded" }).click();
    await page.waitForURL(/status=ENDED_SUCCESS$/);
    await page.getByRole("button", { name: "Back" }).and(page.locator(":disabled")).waitFor();
    await page.unroute(/\/execution\?/);
    assert.deepEqual(errors, []);
  });

  test("are led back to as they were left in this tab, over other items too", async () => {
    await page.route(/\/execution\?/, (route) =>
      route.continue({ url: route.request().url().replace("limit=50", "limit=2") }),
    );
    const ids = () =>
      page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset["id"]));
    const openFirst = async (): Promise<void> => {
      await page.locator("tbody th a").first().click();
      await page.waitForURL(/\/ui\/[a-z]+\/[^?]/);
      await settled(page);
    };
    await visit(page, service, "/ui/executions?webhook=hello");
    const first = await ids();
    await page.getByRole("button", { name: "Next" }).click();
    await page.locator(`tbody tr[data-id="${first[0]}"]`).waitFor({ state: "detached" });
    const second = await ids();
    for (const name of ["Back to the list", "Executions"]) {
      await openFirst();
      await page.getByRole("link", { name: "Older" }).click();
      await page.waitForURL((url) => !url.pathname.endsWith(second[0] ?? ""));
      await settled(page);
      await page.locator("main").getByRole("link", { name, exact: true }).click();
      await page.waitForURL(/\/ui\/executions\?webhook=hello$/);
      await settled(page);
      assert.deepEqual(await ids(), second, name);
    }
    await page.unroute(/\/execution\?/);
    const way = page.locator("main").getByRole("link", { name: "Webhooks" });
    await visit(page, service, "/ui/webhooks?text=hel");
    await openFirst();
    assert.equal(await way.getAttribute("href"), `${service.url}/ui/webhooks?text=hel`);
    await visit(page, service, "/ui/");
    await visit(page, service, "/ui/webhooks/hello");
    assert.equal(await way.getAttribute("href"), "/ui/webhooks", "it did not come from there");
    assert.deepEqual(errors, []);
  });

  test("are led back to with the filters of the item's own address", async () => {
    await visit(page, service, "/ui/executions?utm_source=mail&webhook=hello");
    const { body } = await service.api("GET", "/execution?webhook=hello&limit=1");
    const path = `/ui/executions/${(body as { items: { id: string }[] }).items[0]?.id ?? ""}`;
    const back = page.getByRole("link", { name: "Back to the list" });
    await visit(page, service, `${path}?webhook=hello`);
    const left = `${service.url}/ui/executions?utm_source=mail&webhook=hello`;
    assert.equal(await back.getAttribute("href"), left);
    await visit(page, service, `${path}?webhook=hello&status=ENDED_SUCCESS`);
    const own = new URL((await back.getAttribute("href")) ?? "", service.url).searchParams;
    assert.deepEqual(Object.fromEntries(own), { webhook: "hello", status: "ENDED_SUCCESS" });
  });

  test("have a chip for each filter of their address, which takes it away", async () => {
    const { body } = await service.api("GET", "/execution?limit=1");
    const id = (body as { items: { id: string }[] }).items[0]?.id ?? "";
    const named: Record<string, string> = {
      parent_id: id,
      replay_of: id,
      role: "webhook",
      created_by: "admin",
      webhook: "hello",
    };
    await visit(page, service, `/ui/executions?${new URLSearchParams(named).toString()}`);
    await page.getByRole("heading", { name: "No execution matches" }).waitFor();
    const chips = page.getByRole("group", { name: "Filters" }).getByRole("button");
    const texts = (await chips.allInnerTexts()).map((text) => text.replace(/\s×.*/s, ""));
    assert.deepEqual(texts, [
      "Webhook hello",
      `Started by execution ${id}`,
      `Replay of ${id}`,
      "Role webhook",
      "Started by user admin",
    ]);
    for (const label of ["Started by execution", "Replay of", "Role", "Started by user"])
      await chips.filter({ hasText: new RegExp(`^${label} `) }).click();
    await page.waitForURL(/\?webhook=hello$/);
    await page.locator("tbody tr").first().waitFor();
  });

  test("with a day have it to its end, in the zone of the page", async () => {
    const timezoneId = "America/New_York";
    const context = await openWindow(browser, service, { timezoneId });
    const { page: own } = await openPage(context);
    const asked: string[] = [];
    own.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname.endsWith("/execution"))
        asked.push(`${searchParams.get("from")} ${searchParams.get("to")}`);
    });
    // The clock goes forward on this day, which has 23 hours.
    await visit(own, service, "/ui/executions?from=2026-03-08&to=2026-03-08");
    assert.equal(asked.at(-1), "2026-03-08T05:00:00.000Z 2026-03-09T04:00:00.000Z");
    await own.getByRole("button", { name: "Until the end of 2026-03-08" }).click();
    await own.getByRole("button", { name: "From 2026-03-08" }).click();
    const search = own.getByLabel("Search");
    await search.fill("until:2026-03-08T10:30");
    await search.press("Enter");
    const until = own.getByRole("button", { name: /^Until Mar 8(, 2026)?, 10:30:00 GMT-4/ });
    await until.waitFor();
    assert.equal(asked.at(-1), "null 2026-03-08T14:30:00.000Z");
    // As a chart links to the executions of one of its bars.
    await visit(own, service, "/ui/executions?to=2026-03-08T14:30:00.000Z");
    await until.click();
    await own.waitForURL(/\/executions$/);
    await search.fill("until:2026-02-30");
    await search.press("Enter");
    await own.getByText('"until:2026-02-30": expected a day or a time').waitFor();
    await search.fill("until:2026-02-30T10:00");
    await search.press("Enter");
    await own.getByText('"until:2026-02-30T10:00": expected a day or a time').waitFor();
    const today = await own.evaluate<string>("new Date().toLocaleDateString('en-CA')");
    await search.fill(`from:${today} until:${today}`);
    await search.press("Enter");
    await own.locator("tbody tr").first().waitFor();
    await visit(own, service, "/ui/executions?from=2026-02-30");
    await own.getByText('"from=2026-02-30" of the address filters nothing: expected').waitFor();
    await context.close();
  });

  test("say which filters of their address they have not", async () => {
    for (const [path, known] of [
      ["executions", "status, text, webhook, flow, "],
      ["webhooks", "text, flow, is_enabled"],
      ["flows", "text, state"],
      ["admin/audit", "user_name, action, target"],
    ] as const) {
      await visit(page, service, `/ui/${path}?until=2026-01-31&utm_source=mail&fbclid=1`);
      const said = page.getByText(
        `"until=2026-01-31" of the address filters nothing: expected one of ${known}`,
      );
      await said.waitFor();
      const close = page
        .locator(".complaint", { has: said })
        .getByRole("button", { name: "Close" });
      const [text, button] = [await said.boundingBox(), await close.boundingBox()];
      assert.ok(text !== null && button !== null);
      assert.ok(button.x >= text.x + text.width, "beside it, however long it is");
      assert.equal(await page.locator(".complaint").count(), 1);
    }
  });

  test("say it of many filters at once, and shortly", async () => {
    const long = "x".repeat(400);
    await visit(page, service, `/ui/executions?a=${long}&b=1&c=2&d=3&e=4`);
    await page
      .getByText(`"a=${"x".repeat(38)}…", "b=1", "c=2" and 2 more of the address filter nothing: `)
      .waitFor();
    assert.equal(await page.locator(".complaint").count(), 1);
    await page.getByLabel("Search").fill(`project:${long}`);
    await page.keyboard.press("Enter");
    await page.getByText("There is no project").waitFor();
    const width = await page.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(width <= (page.viewportSize()?.width ?? 0), `${width} pixels wide`);
  });
});
