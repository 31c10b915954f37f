import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import type { Browser, Page, Request } from "playwright-core";
import { endedExecution } from "../blackbox/scenario.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";
import { call, openWorkshop } from "./workshop.ts";

describe("executions and flows in the browser", { skip: noBrowser }, () => {
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

  test("come into the list by themselves, where they match its filters", async () => {
    await visit(page, service, "/ui/executions?webhook=hello");
    await page.locator("#live", { hasText: "Live" }).waitFor();
    const rows = page.locator("tbody tr");
    const count = await rows.count();
    await call(service, "failing", {});
    await call(service, "hello", { name: "Live" });
    await page.locator("tbody tr.new").waitFor();
    assert.equal(await rows.count(), count + 1);
    assert.doesNotMatch(await page.locator("tbody").innerText(), /failing/);
    await page.locator("tbody tr.new", { hasText: "Succeeded" }).waitFor();
  });

  test("show the beginning of a long text, and copy all of it", { timeout: 60_000 }, async () => {
    const text = "x".repeat(5_000_000);
    await call(service, "answer", { steps: [], output: text });
    const { body } = await service.api("GET", "/execution?limit=1&webhook=answer");
    const [newest] = (body as { items: { id: string }[] }).items;
    await page.addInitScript(
      "navigator.clipboard.writeText = async (text) => (window.copied = text)",
    );
    await visit(page, service, `/ui/executions/${newest?.id}`);
    const output = page.locator("#output");
    const length = async () => (await output.locator(".json-string").innerText()).length;
    assert.equal(await length(), 200_000);
    await output.getByRole("button", { name: /^4,?800,?002 more characters$/ }).click();
    assert.equal(await length(), 400_000);
    await output.getByRole("button", { name: "Copy" }).click();
    await page.locator("#notices", { hasText: "Copied" }).waitFor();
    assert.equal(await page.evaluate("window.copied.length"), text.length + 2);
  });

  test("come into it also while its stream is not open yet", async () => {
    const held = Promise.withResolvers<void>();
    await page.route(/\/execution\/events$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await visit(page, service, "/ui/executions?webhook=hello");
    const rows = page.locator("tbody tr");
    const count = await rows.count();
    await call(service, "hello", { name: "Early" });
    held.resolve();
    await page.locator("#live", { hasText: "Live" }).waitFor();
    await rows.nth(count).waitFor();
    await page.unroute(/\/execution\/events$/);
  });

  test("come into it only where its filters say so, also those of the address alone", async () => {
    await visit(page, service, "/ui/executions?created_by=admin");
    await page.locator("#live", { hasText: "Live" }).waitFor();
    await call(service, "hello", { name: "Nobody" });
    const started = await service.api("POST", "/flow/hello/execution", {
      input_value: { query: {} },
    });
    const { id } = started.body as { id: string };
    await page.locator(`tr[data-id="${id}"]`).waitFor();
    const names = await page.locator("tbody th a").allInnerTexts();
    assert.deepEqual([...new Set(names)], ["flow hello"]);
  });

  test("come into it where the service finds a text in another way of writing it", async () => {
    await visit(page, service, `/ui/executions?text=${encodeURIComponent("Zo\u00eb")}`);
    await page.locator("#live", { hasText: "Live" }).waitFor();
    await call(service, "answer", { steps: [{ status_message: "ZOE\u0308 called" }] });
    await page.locator("tbody tr", { hasText: "called" }).waitFor();
  });

  test("are filtered by the name of a project, whatever lists are there", async () => {
    const lists = /\/project\?/;
    await page.route(lists, () => {});
    await page.goto(`${service.url}/ui/executions`);
    const search = page.getByLabel("Search", { exact: true });
    await search.fill("project:Shop");
    await search.press("Enter");
    await page.waitForURL(/project_id=/);
    await search.fill("project:Shup");
    await search.press("Enter");
    await page.locator(".complaint", { hasText: 'There is no project "Shup"' }).waitFor();
    await page.unroute(lists);
    errors.splice(0);
  });

  test("are on one page or another, however many come while they are looked at", async () => {
    await service.createWebhook("busy", "hello");
    await call(service, "busy", {});
    await visit(page, service, "/ui/executions?webhook=busy");
    await page.locator("#live", { hasText: "Live" }).waitFor();
    await Promise.all(Array.from({ length: 55 }, () => call(service, "busy", {})));
    const ids = () =>
      page.locator("tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset["id"]));
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Back" }).and(page.locator(":enabled")).waitFor();
    const older = await ids();
    await page.getByRole("button", { name: "Back" }).click();
    await page.getByRole("button", { name: "Back" }).and(page.locator(":disabled")).waitFor();
    assert.equal(new Set([...older, ...(await ids())]).size, 56);

    // Another filter, chosen while the next page is waited for, is not turned away from.
    await visit(page, service, "/ui/executions?webhook=busy");
    await page.locator("#live", { hasText: "Live" }).waitFor();
    await call(service, "busy", {});
    await page.locator("tbody tr.new").waitFor();
    const released = Promise.withResolvers<void>();
    await page.route(/\/execution\?(?!.*status=)/, async (route) => {
      await released.promise;
      await route.continue().catch(() => {});
    });
    const asked = page.waitForRequest(/\/execution\?/);
    await page.getByRole("button", { name: "Next" }).click();
    await asked;
    await page.getByRole("button", { name: "Failed" }).click();
    await page.getByRole("heading", { name: "No execution matches" }).waitFor();
    released.resolve();
    await page.unrouteAll();
  });

  test("that are not there, nor flows and webhooks, are told with the way to their list", async () => {
    const lists = { executions: "execution", webhooks: "webhook", flows: "flow" };
    for (const [list, noun] of Object.entries(lists)) {
      await visit(page, service, `/ui/${list}/nope`);
      await page.getByRole("heading", { name: `This ${noun} is not here` }).waitFor();
      assert.equal(await page.title(), `This ${noun} is not here · Flowhook`);
      assert.equal(await page.locator(".complaint").count(), 0);
      await page.getByRole("link", { name: `All ${list}` }).click();
      await page.waitForURL(`${service.url}/ui/${list}`);
      await settled(page);
    }
    await visit(page, service, "/ui/flows/hello/versions/nope");
    await page.getByRole("heading", { name: "This version is not here" }).waitFor();
    // The browser notes each 404.
    assert.equal(errors.splice(0).length, 4);
  });

  test("are filtered by the name of a status, and a filter that there is not is told", async () => {
    await visit(page, service, "/ui/executions");
    const search = page.getByLabel("Search", { exact: true });
    const typed = async (text: string): Promise<void> => {
      await search.fill(text);
      await search.press("Enter");
    };
    await typed("no stock status:lost");
    await page.locator(".complaint", { hasText: "expected one of Waiting, Running" }).waitFor();
    await typed("no stock status:failed,timed-out");
    await page.waitForURL(/status=ENDED_ERROR%2CENDED_TIMEOUT/);
    for (const name of ["Failed", "Timed out"])
      assert.ok(await page.getByRole("button", { name, pressed: true }).isVisible(), name);
    await page.locator("tbody", { hasText: "No stock left" }).waitFor();
    await typed("state:failed");
    await page.getByText("state: is no filter").waitFor();
    await page.getByRole("link", { name: "show all executions" }).click();
    await page.waitForURL(/\/ui\/executions$/);
    await page.locator("tbody tr").first().waitFor();
  });

  test("are filtered by status, text and time", async () => {
    await visit(page, service, "/ui/executions");
    await page.getByRole("button", { name: "Failed" }).click();
    await page.waitForURL(/status=ENDED_ERROR$/);
    await page.waitForSelector("tbody tr:first-child .bad");
    assert.doesNotMatch(await page.locator("tbody").innerText(), /Succeeded/);
    await page.getByLabel("Search").fill("NO STOCK");
    await page.waitForURL(/text=NO/);
    assert.match(await page.locator("tbody").innerText(), /No stock left/);
    await page.getByLabel("Search").fill("no stock until:2020-01-01");
    await page.getByLabel("Search").press("Enter");
    await page.getByRole("heading", { name: "No execution matches" }).waitFor();
    await page.getByRole("button", { name: /^Until the end of 2020-01-01/ }).click();
    await page.locator("tbody", { hasText: "No stock left" }).waitFor();
    await page.getByLabel("Search").fill("flow:hello");
    await page.getByLabel("Search").press("Enter");
    await page.getByRole("heading", { name: "No execution matches" }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get("flow"), "hello");
  });

  test("are filtered by what the address has of filters, and by nothing else of it", async () => {
    const chips = page.getByRole("group", { name: "Filters" });
    await visit(page, service, "/ui/executions?webhook=hello&from=garbage&utm_source=mail");
    await page.locator("tbody tr").first().waitFor();
    const set = await chips.getByRole("button").allInnerTexts();
    assert.equal(set.length, 1);
    assert.match(set[0] ?? "", /^Webhook hello/);
    for (const path of ["/ui/webhooks", "/ui/flows", "/ui/admin/audit"]) {
      await visit(page, service, `${path}?utm_source=mail`);
      await page.locator("tbody tr").first().waitFor();
      assert.equal(await page.locator("#banner p").count(), 0, path);
    }
  });

  test("are walked with keys, from the list and from one to the next", async () => {
    await visit(page, service, "/ui/executions?status=ENDED_ERROR&webhook=failing");
    const ids = await page
      .locator("tbody tr")
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
    assert.ok(ids.length > 1);
    await page.keyboard.press("/");
    assert.equal(
      await page.getByLabel("Search").evaluate((field) => field.matches(":focus")),
      true,
    );
    await page.keyboard.type("jk");
    assert.equal(await page.getByLabel("Search").inputValue(), "jk");
    await visit(page, service, "/ui/executions?status=ENDED_ERROR&webhook=failing");
    for (const key of ["j", "j", "k", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`${ids[0]}\\?status=ENDED_ERROR&webhook=failing`));
    await settled(page);
    await page.getByRole("link", { name: "Older" }).click();
    await page.waitForURL(new RegExp(`${ids[1]}\\?`));
    await settled(page);
    await page.keyboard.press("k");
    await page.waitForURL(new RegExp(`${ids[0]}\\?`));
    await settled(page);
    await page.getByRole("link", { name: "Back to the list" }).click();
    await page.waitForURL(/executions\?status/);
    await settled(page);
    // The whole row leads to the execution.
    await page.locator("tbody tr td.said").first().click({ force: true });
    await page.waitForURL(new RegExp(`${ids[0]}\\?`));
  });

  test("are listed with the keys that walk them, which can be turned off (WCAG 2.1.4)", async () => {
    const list = "/ui/executions?webhook=hello";
    const dialog = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    const focused = () => page.evaluate<string>("document.activeElement.tagName");
    await visit(page, service, list);
    await page.keyboard.press("?");
    await dialog.getByText("the next and the previous row").waitFor();
    await dialog.getByLabel("Use single keys").uncheck();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    for (const path of [list, "/ui/docs"]) {
      await visit(page, service, path);
      for (const key of ["j", "/", "?"]) await page.keyboard.press(key);
      assert.equal(await focused(), "BODY", path);
      assert.equal(await dialog.count(), 0);
    }
    await page.getByRole("button", { name: "Keyboard shortcuts" }).click();
    await dialog.getByLabel("Use single keys").check();
    await dialog.getByRole("button", { name: "Close" }).click();
    await visit(page, service, list);
    await page.keyboard.press("j");
    assert.equal(await focused(), "A");
  });

  test("are paged by the server", async () => {
    const context = await openWindow(browser, service);
    const other = await context.newPage();
    // The list asks for fifty; the test's service has fewer, so the answer is cut short here.
    await other.route(/\/execution\?/, (route) => {
      const url = route.request().url().replace("limit=50", "limit=3");
      return route.continue({ url });
    });
    await visit(other, service, "/ui/executions");
    const first = await other.locator("tbody").innerText();
    await other.getByRole("button", { name: "Next" }).click();
    await other.getByRole("button", { name: "Back" }).and(other.locator(":enabled")).waitFor();
    assert.notEqual(await other.locator("tbody").innerText(), first);
    await other.getByRole("button", { name: "Back" }).click();
    await other.getByRole("button", { name: "Back" }).and(other.locator(":disabled")).waitFor();
    assert.equal(await other.locator("tbody tr").count(), 3);
    await context.close();
  });

  test("are cancelled while they run, with their log as it comes", async () => {
    const started = await service.api("POST", "/flow/slow/execution", {
      input_value: { query: { seconds: "60" } },
    });
    const { id } = started.body as { id: string };
    await visit(page, service, `/ui/executions/${id}`);
    await page.locator("#badges", { hasText: "Running" }).waitFor();
    await page.locator("#log").getByText("the last lines come once").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    const dialog = page.getByRole("dialog", { name: 'Cancel the execution of "slow"?' });
    await dialog.getByText(id).waitFor();
    await dialog.getByRole("button", { name: "Let it run" }).click();
    await dialog.waitFor({ state: "detached" });
    const { body } = await service.api("GET", `/execution/${id}`);
    assert.equal((body as { status: string }).status, "RUNNING");
    await page.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "Cancel it" }).click();
    await page.locator("#badges", { hasText: "Cancelled" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
    assert.equal(await page.locator("#log").getByText("the last lines come once").count(), 0);
  });

  test("have each line of their log once, when they end", async () => {
    // It logs at each whole second, so that the last line comes together with the end.
    const input_value = { query: { seconds: "2.05" } };
    const started = await service.api("POST", "/flow/slow/execution", { input_value });
    const { id } = started.body as { id: string };
    await visit(page, service, `/ui/executions/${id}`);
    await page.locator("#badges", { hasText: "Succeeded" }).waitFor();
    // Lines that came before are added so long after.
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 200))");
    assert.equal(await page.locator("#log p", { hasText: "Waiting" }).count(), 3);
  });

  test("are searched, and replayed with another input", async () => {
    const { body } = await service.api("GET", "/execution?webhook=hello&limit=1");
    const [newest] = (body as { items: { id: string }[] }).items;
    await visit(page, service, `/ui/executions/${newest?.id}`);
    await page.getByLabel("Search the input").fill("user-agent");
    assert.match(await page.locator(".json-found").innerText(), /user-agent/);
    await page.getByRole("button", { name: "Replay with changes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Input").fill("{ no");
    await dialog.getByRole("button", { name: "Replay" }).click();
    await dialog.getByText("This is not JSON").waitFor();
    await dialog.getByLabel("Input").fill('{ "query": {}, "json": { "name": "Again" } }');
    await dialog.getByRole("button", { name: "Replay" }).click();
    await page.getByText("Replay of").waitFor();
    await page.locator("#output", { hasText: "Again" }).waitFor();
  });

  test("are replayed, and started, once however often that is pressed while they open", async () => {
    const { body } = await service.api("GET", "/execution?webhook=failing&limit=1");
    const [failed] = (body as { items: { id: string }[] }).items;
    for (const [path, name] of [
      [`/ui/executions/${failed?.id}`, "Replay"],
      ["/ui/flows/hello#run", "Run"],
    ] as const) {
      await visit(page, service, path);
      const led = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      await page.route(/\/ui\/executions\//, async (route) => {
        led.resolve();
        await released.promise;
        await route.continue();
      });
      // Before it starts anything, a page asks who is logged in.
      const asked: string[] = [];
      const note = (request: Request) =>
        request.url().endsWith("/auth/me") && asked.push(request.url());
      page.on("request", note);
      const button = page.getByRole("button", { name, exact: true });
      const place = await button.boundingBox();
      const press = () => page.mouse.click((place?.x ?? 0) + 5, (place?.y ?? 0) + 5);
      await press();
      await led.promise;
      for (let count = 0; count < 2; count += 1) await press();
      const left = page.waitForEvent("framenavigated");
      released.resolve();
      await left;
      page.off("request", note);
      await settled(page);
      await page.unrouteAll();
      assert.equal(asked.length, 1, name);
    }
  });

  test("have the last lines of a long log, and those before them on request", async () => {
    const steps = Array.from({ length: 4500 }, (_, at) => ({ log: `line ${at}.` }));
    const input_value = { json: { steps } };
    const { body } = await service.api("POST", "/flow/answer/execution", { input_value });
    const { id } = body as { id: string };
    await endedExecution(service, id);
    await visit(page, service, `/ui/executions/${id}`);
    const lines = page.locator(".log p");
    const earlier = page.getByRole("button", { name: "earlier lines" });
    for (const [count, first] of [
      [2000, "line 2500."],
      [4000, "line 500."],
    ] as const) {
      await lines.first().getByText(first).waitFor();
      assert.equal(await lines.count(), count);
      await lines.last().getByText("line 4499.").waitFor();
      await earlier.click();
    }
    await lines.first().getByText("line 0.").waitFor();
    assert.equal(await lines.count(), 4500);
    assert.equal(await earlier.count(), 0);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download" }).click();
    const text = await readFile(await (await saving).path(), "utf8");
    assert.equal(text.split("\n").length, 4501);
  });

  test("finds the last of very many members, and shows those around it", async () => {
    const input_value = { json: Array.from({ length: 20_000 }, (_, at) => `item ${at}`) };
    const { body } = await service.api("POST", "/flow/hello/execution", { input_value });
    await visit(page, service, `/ui/executions/${(body as { id: string }).id}`);
    await page.getByLabel("Search the input").fill("item 19999");
    const found = page.locator(".json-found", { hasText: "item 19999" });
    await found.waitFor();
    const input = page.getByRole("group", { name: "the input" });
    assert.ok((await input.locator(".json-leaf").count()) < 200);
    await input.getByRole("button", { name: "more above" }).click();
    await input.locator(".json-leaf", { hasText: "item 19850" }).waitFor();
    assert.equal(await found.count(), 1);
  });

  test("8: a response that was not sent says what the caller got", async () => {
    const newest = async (query: string): Promise<string> => {
      const { body } = await service.api("GET", `/execution?limit=1&${query}`);
      return (body as { items: { id: string }[] }).items[0]?.id ?? "";
    };
    const response = page.locator("#response");
    await call(service, "failing", {});
    await visit(page, service, `/ui/executions/${await newest("webhook=failing")}`);
    const said =
      /^What the caller got\s+Not sent: the caller got 500 ENDED_ERROR: No stock left of 'lamp'/;
    assert.match(await response.innerText(), said);
    assert.match(await response.innerText(), /Unsent response[^]*reserved/);
    await service.api("GET", "/webhook/failing/call?async");
    const id = await newest("webhook=failing");
    await endedExecution(service, id);
    await visit(page, service, `/ui/executions/${id}`);
    assert.match(
      await response.innerText(),
      /^What the caller got\s+Not sent: the call was asynchronous/,
    );
    const { body } = await service.api("POST", `/execution/${id}/replay`, {});
    const { id: replay } = body as { id: string };
    await endedExecution(service, replay);
    await visit(page, service, `/ui/executions/${replay}`);
    assert.match(
      await response.innerText(),
      /^What the caller got\s+Not sent: the execution was not started by a call/,
    );
    await call(service, "status-page", null);
    await visit(page, service, `/ui/executions/${await newest("webhook=status-page")}`);
    assert.doesNotMatch(await response.innerText(), /not sent|unsent/i);
    assert.match(await response.innerText(), /^What the caller got\s+200[^]*Response/);
  });

  test("of a flow start with an input, and its source is shown", async () => {
    await visit(page, service, "/ui/flows/hello");
    assert.ok((await page.locator(".source .keyword").count()) > 3);
    await page.getByRole("tab", { name: "Run" }).click();
    await page.getByLabel("Input").fill('{ "query": { "name": "Ada" } }');
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForURL(/\/ui\/executions\//);
    await settled(page);
    await page.locator("#output", { hasText: "Ada" }).waitFor();
  });

  test("of a flow with an input schema start with an example of it", async () => {
    await visit(page, service, "/ui/flows/typed#run");
    const typed: unknown = JSON.parse(await page.getByLabel("Input").inputValue());
    assert.deepEqual(typed, { json: { item: "lamp", count: 1 } });
    await page.getByRole("button", { name: "Run" }).click();
    await page.waitForURL(/\/ui\/executions\//);
    await page.locator("#badges", { hasText: "Succeeded" }).waitFor();
  });

  test("a broken flow says where", async () => {
    await visit(page, service, "/ui/");
    await page.locator("#broken").getByRole("link", { name: "broken" }).click();
    await settled(page);
    assert.match(await page.locator(".trouble").innerText(), /There is no configuration[^]*line 2/);
    assert.match(await page.locator("#error-line").innerText(), /throw new Error/);
    await visit(page, service, "/ui/flows/broken#run");
    await page.getByRole("link", { name: "broken.ts, line 2" }).click();
    await page.locator("#error-line", { hasText: "throw new Error" }).waitFor();
    await page.getByRole("tab", { name: "Permissions and limits" }).click();
    await page.getByRole("link", { name: "broken.ts, line 2" }).click();
    await page.locator("#error-line").waitFor();
    await page.getByRole("link", { name: "Flows" }).last().click();
    await settled(page);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.locator("#notices", { hasText: "read again" }).waitFor();
    const names = page.locator("tbody th a");
    await page.getByLabel("State").selectOption("broken");
    await page.waitForURL(/\?state=broken$/);
    assert.deepEqual(await names.allInnerTexts(), ["broken"]);
    await page.getByLabel("Name or description contains").fill("HELLO");
    await page.getByRole("heading", { name: "No flow is here" }).waitFor();
    await page.getByLabel("State").selectOption("");
    await names.getByText("hello", { exact: true }).waitFor();
    assert.deepEqual(errors, []);
  });
});

test(
  "what the caller got is not told as today's where answers are those of earlier releases",
  {
    skip: noBrowser,
  },
  async () => {
    await using opened = new AsyncDisposableStack();
    const config = { RESPONSE_MATRIX: "earlier" };
    const service = opened.adopt(await startService({ flows: ["answer"], config }), async (own) => {
      await own.stop();
    });
    await service.createWebhook("answer", "answer");
    const answer = await call(service, "answer", { steps: [], output: 1 });
    assert.equal(answer.status, 200);
    const { body } = await service.api("GET", "/execution?limit=1");
    const [newest] = (body as { items: { id: string }[] }).items;
    const browser = opened.adopt(await openBrowser(), (own) => own.close());
    const { page } = await openPage(await openWindow(browser, service));
    await visit(page, service, `/ui/executions/${newest?.id}`);
    await page.locator("#response", { hasText: "RESPONSE_MATRIX is earlier" }).waitFor();
    assert.equal(await page.locator("#response .answered").count(), 0);
  },
);
