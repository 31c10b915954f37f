import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { ADMIN_PASSWORD, startService, type Service } from "../blackbox/service.ts";
import { ROOT } from "../blackbox/target.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("webhooks in the browser", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let errors: string[];
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    context = await openWindow(browser, service);
    ({ page, errors } = await openPage(context));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function webhook(name: string): Promise<Record<string, unknown>> {
    return (await service.api("GET", `/webhook/${name}`)).body as Record<string, unknown>;
  }

  test("are listed with their state and outcome, and found by text", async () => {
    await visit(page, service, "/ui/webhooks");
    const failing = page.locator("tbody tr", { hasText: "failing" });
    await failing.locator(".outcomes").waitFor();
    const label = await failing.locator(".outcomes").getAttribute("aria-label");
    assert.equal(label, "3 of the last 3 failed");
    assert.match(await page.locator("tbody tr", { hasText: "in-work" }).innerText(), /Disabled/);
    await page.getByLabel("Name contains").fill("hel");
    await page.waitForSelector("tbody:not(:has(tr:nth-child(2)))");
    assert.match(await page.locator("tbody").innerText(), /hello/);
    assert.match(page.url(), /\?text=hel$/, "the address carries the filter");
    await page.getByLabel("Name contains").fill("there is none");
    await page.getByRole("heading", { name: "No webhook is here" }).waitFor();
  });

  test("are listed with who may call, how they answer and today's calls", async () => {
    await service.createWebhook("late", "hello", { default_mode: "async" });
    await service.createWebhook("held", "hello", { sync_mode: "hold" });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await visit(page, service, "/ui/webhooks");
    const heads = await page.locator("thead th").allInnerTexts();
    assert.deepEqual(heads.slice(3, 6), ["Who may call", "Mode", "Today"]);
    const cells = (name: string) =>
      page
        .locator("tbody tr", { has: page.getByRole("link", { name, exact: true }) })
        .locator("td");
    const shown = async (name: string) =>
      (await cells(name).allInnerTexts()).slice(2, 5).map((text) => text.replace(/\s+/g, " "));
    assert.deepEqual(await shown("failing"), ["Public", "Sync, redirects", "3 calls 3 failed"]);
    assert.deepEqual(await shown("notification"), ["Key", "Sync, redirects", "none"]);
    assert.deepEqual((await shown("late")).slice(1), ["Async", "none"]);
    assert.deepEqual((await shown("held")).slice(1), ["Sync, held", "none"]);
    assert.equal(
      await page.locator(".badge.busy:visible", { hasText: "Public" }).first().isVisible(),
      true,
    );
    const statistics = asked.filter((path) => path.endsWith("/statistics"));
    assert.equal(statistics.length, 1, "one request for all rows");
  });

  test("advise about a name while it is typed, and keep what was typed when refused", async () => {
    await visit(page, service, "/ui/new-webhook?flow=hello");
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("two words");
    assert.match(await page.locator("#name-hint").innerText(), /better use a hyphen/);
    assert.match(await page.locator("#preview").innerText(), /\/webhook\/two%20words\/call$/);
    await name.fill("a/b");
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("[data-fault-of=name]", { hasText: "xpected none of" }).waitFor();
    assert.equal(await name.inputValue(), "a/b");
    assert.equal(await name.getAttribute("aria-invalid"), "true");
    await name.press("End");
    await page.keyboard.press("Backspace");
    await page.locator("[data-fault-of=name]:empty").waitFor({ state: "attached" });
    await page.keyboard.type("c");
    assert.equal(await name.inputValue(), "a/c", "it keeps the focus");
    assert.equal(await name.getAttribute("aria-invalid"), null);
    await name.fill("hello");
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("[data-fault-of=name]", { hasText: "taken" }).waitFor();
    errors.length = 0;
  });

  test("start the flow that was chosen, and no other one", async () => {
    for (const query of ["", "?flow=broken"]) {
      await visit(page, service, `/ui/new-webhook${query}`);
      await page.getByLabel("Name", { exact: true }).fill("any");
      await page.getByRole("button", { name: "Create" }).click();
      await page.locator("[data-fault-of=flow]", { hasText: "This is needed" }).waitFor();
    }
    await page.getByLabel("Flow", { exact: true }).selectOption("hello");
    await page.locator("[data-fault-of=flow]:empty").waitFor({ state: "attached" });
    await visit(page, service, "/ui/flows/broken");
    assert.equal(await page.getByRole("link", { name: "Create a webhook" }).count(), 0);
  });

  test("open what is folded where a field in it is refused", async () => {
    const role = { name: "brief", permissions: [], password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/role", role)).status, 201);
    await visit(page, service, "/ui/new-webhook?flow=hello");
    const more = page.locator("summary", { hasText: "More" });
    await more.click();
    await page.getByLabel("Role").selectOption("brief");
    await more.click();
    await service.api("DELETE", "/role/brief", { password: ADMIN_PASSWORD });
    await page.getByLabel("Name", { exact: true }).fill("folded");
    await page.getByRole("button", { name: "Create" }).click();
    await page.locator("[data-fault-of=role]", { hasText: "brief" }).waitFor();
    errors.length = 0;
  });

  test("show the figures of the range that was chosen last, whichever comes last", async () => {
    const held = Promise.withResolvers<void>();
    const isOfWeek = (url: URL) => url.searchParams.get("interval_sec") === "10800";
    await page.route(isOfWeek, async (route) => {
      await held.promise;
      await route.fulfill({ json: { items: [] } });
    });
    await visit(page, service, "/ui/webhooks/failing#calls");
    const sum = page.locator(".chart h3");
    await sum.waitFor();
    const ofHour = await sum.innerText();
    assert.doesNotMatch(ofHour, /^0 calls/);
    const ofWeek = page.waitForResponse((response) => isOfWeek(new URL(response.url())));
    await page.getByRole("button", { name: "Week" }).click();
    await page.getByRole("button", { name: "Hour" }).click();
    held.resolve();
    await (await ofWeek).finished();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve))");
    assert.equal(await sum.innerText(), ofHour);
    await page.unroute(isOfWeek);
  });

  test("show figures of now, also where nobody calls and the page stays open", async () => {
    const window = await openWindow(browser, service);
    const { page: other } = await openPage(window);
    await other.clock.install();
    // A stream that is opened anew would have them read again as well.
    await other.route(/\/execution\/events/, () => {});
    for (const path of ["/ui/", "/ui/webhooks"]) {
      await visit(other, service, path);
      // What the stream tells as it opens is read first.
      await other.clock.runFor(10_000);
      await other.evaluate("fetch(location.href)");
      const asked = other.waitForRequest(/\/statistics\?/);
      await other.clock.runFor(60_000);
      await asked;
    }
    await window.close();
  });

  test("change their access after the password only", async () => {
    await visit(page, service, "/ui/webhooks/notification#access");
    await page.getByRole("button", { name: "Disable" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Your password").fill("not the password");
    await dialog.getByRole("button", { name: "Disable" }).click();
    await dialog.getByText("This is not your password").waitFor();
    assert.equal((await webhook("notification"))["is_enabled"], true);
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Disable" }).click();
    await page.locator("#badges", { hasText: "Disabled" }).waitFor();
    assert.equal((await webhook("notification"))["is_enabled"], false);

    await page.getByRole("button", { name: "Replace the key" }).click();
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    const sent = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    await page.route(/\/authentication$/, async (route) => {
      sent.resolve();
      await held.promise;
      await route.continue();
    });
    await dialog.getByRole("button", { name: "Replace the key" }).click();
    await sent.promise;
    for (let count = 0; count < 2; count += 1) await page.keyboard.press("Escape");
    held.resolve();
    const [key = "", line = ""] = await dialog
      .locator(".secret code")
      .nth(1)
      .waitFor()
      .then(() => dialog.locator(".secret code").allInnerTexts());
    assert.match(key, /^fhk_/);
    assert.ok(line.startsWith("curl -L 'http") && line.includes(`Bearer ${key}`), line);
    await page.unroute(/\/authentication$/);
    await dialog.getByRole("button", { name: "Copy" }).first().click();
    await dialog.locator(".notices", { hasText: "Copied" }).waitFor();
    // Chromium closes a dialog at the second one, whatever the page has answered to the first.
    for (let count = 0; count < 3; count += 1) await page.keyboard.press("Escape");
    assert.equal(await dialog.locator(".secret code").first().innerText(), key);
    await dialog.getByRole("button", { name: "Close" }).click();
    // A closed dialog has no role, and is in the page until the browser has told that it closed.
    await page.locator("dialog").waitFor({ state: "detached" });
    assert.ok(!(await page.content()).includes(key), "the key was shown once");
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]));
    assert.ok(!kept.includes(key), "the browser keeps no key");
    errors.length = 0;
  });

  test("take no address away that somebody else has added meanwhile", async () => {
    const admit = async (...allowed_addresses: string[]): Promise<void> => {
      const body = { password: ADMIN_PASSWORD, allowed_addresses };
      const { status } = await service.api("PUT", "/webhook/failing/authentication", body);
      assert.equal(status, 200);
    };
    const dialog = page.getByRole("dialog");
    const list = dialog.getByLabel("Addresses and ranges");
    const save = () => dialog.getByRole("button", { name: "Change the addresses" }).click();
    await visit(page, service, "/ui/webhooks/failing#access");
    await admit("127.0.0.1");
    await page.getByRole("button", { name: "Change the addresses" }).click();
    assert.equal(await list.inputValue(), "127.0.0.1");
    await admit("127.0.0.1", "192.0.2.1");
    await list.fill("127.0.0.1\n192.0.2.2");
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await save();
    await dialog.getByText("Somebody else has changed it").waitFor();
    assert.deepEqual((await webhook("failing"))["allowed_addresses"], ["127.0.0.1", "192.0.2.1"]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await admit();
    errors.length = 0;
  });

  test("say who may call then, by what somebody else has left meanwhile", async () => {
    await service.api("POST", "/secret", { name: "LEFT", value: "a secret of the sender" });
    const signature = { scheme: "github", secrets: ["LEFT"] };
    const access = { key: "a-key-of-this-test", signature, require_login: true };
    await service.createWebhook("guarded", "hello", access);
    await visit(page, service, "/ui/webhooks/guarded#access");
    const dialog = page.getByRole("dialog");
    const says = async (act: string, text: string): Promise<void> => {
      await page.locator("#access").getByRole("button", { name: act }).first().click();
      await dialog.getByText(text).waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await page.locator("dialog").waitFor({ state: "detached" });
    };
    await says("Remove the key", "Callers then need a login token and a signature.");
    await says("Do not require a login", "Callers then need the key and a signature.");
    await says("Require no signatures", "Callers then need the key and a login token.");
    const body = { password: ADMIN_PASSWORD, signature: null, require_login: false };
    await service.api("PUT", "/webhook/guarded/authentication", body);
    await says("Remove the key", "Anybody who reaches the service can then call it.");
  });

  test("save their settings, and say when somebody else was faster", async () => {
    await visit(page, service, "/ui/webhooks/slow#settings");
    await page.getByLabel("Description").fill("Waits");
    await page.getByLabel("Is productive").uncheck();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator("#notices", { hasText: "Saved" }).waitFor();
    const saved = await webhook("slow");
    assert.deepEqual([saved["description"], saved["is_productive"]], ["Waits", false]);
    await page.locator("form button[type=submit]:visible:enabled").waitFor();
    await page.getByLabel("Description").fill("Mine");
    const others = { description: "Somebody else's", sync_mode: "hold" };
    await service.api("PATCH", "/webhook/slow", others);
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".form-fault", { hasText: "Somebody else has changed it" }).waitFor();
    assert.equal(await page.getByLabel("Description").inputValue(), "Mine");
    await page.getByRole("button", { name: "Save over it" }).click();
    await page.getByRole("button", { name: "Save over it" }).waitFor({ state: "detached" });
    await page.locator("form button[type=submit]:visible:enabled").waitFor();
    const { description, sync_mode } = await webhook("slow");
    assert.deepEqual([description, sync_mode], ["Mine", "hold"], "what was typed alone");
    await service.api("PATCH", "/webhook/slow", { sync_mode: null });
    errors.length = 0;
  });

  test("say which header of their answers is there twice, and keep both lines", async () => {
    await visit(page, service, "/ui/webhooks/hello#answers");
    const lines = page.getByLabel("Headers of answers");
    await lines.fill("Link: </a>; rel=preload\nX-A: 1\nlink: </b>; rel=preload");
    await page.locator("#answers").getByRole("button", { name: "Save" }).click();
    await page
      .locator("[data-fault-of=response_headers]", { hasText: '"link" is there' })
      .waitFor();
    assert.match(await lines.inputValue(), /<\/a>.*\n.*\n.*<\/b>/);
    assert.deepEqual((await webhook("hello"))["response_headers"], {});
  });

  test("are shown as they are, also where somebody else changes them", async () => {
    await service.createWebhook("watched", "hello", { key: "a-key-of-this-test" });
    await visit(page, service, "/ui/webhooks/watched");
    await page.getByText("Private: callers need the key.").waitFor();
    const body = { password: ADMIN_PASSWORD, key: null };
    await service.api("PUT", "/webhook/watched/authentication", body);
    await page.getByText("Public: anybody who reaches the service can call it.").waitFor();
  });

  test("say what is set at a sender that signs", async () => {
    await service.api("POST", "/secret", { name: "SENDER", value: "a secret of the sender" });
    const signed = (scheme: string) => ({ signature: { scheme, secrets: ["SENDER"] } });
    await service.createWebhook("hub", "hello", signed("github"));
    await service.createWebhook("paid", "hello", { ...signed("stripe"), default_mode: "async" });
    await visit(page, service, "/ui/webhooks/hub");
    const sender = page.locator("#sender");
    const hub = await sender.innerText();
    assert.match(hub, /Payload URL\s+http\S+\/webhook\/hub\/call\?async\s/);
    assert.match(hub, /Content type\s+application\/json\s+Secret\s+The value of the secret SENDER/);
    assert.match(await page.locator("pre").innerText(), /^flowhook login .*\n.*call 'hub' --sign /);
    await visit(page, service, "/ui/webhooks/paid");
    const paid = await sender.innerText();
    assert.match(paid, /Endpoint URL\s+http\S+\/webhook\/paid\/call\s/, "async by itself");
    assert.match(paid, /whsec_[^]*the secret SENDER/);
    assert.ok(!(await page.content()).includes("a secret of the sender"));
    const key = "a-key-that-is-in-the-way";
    await service.createWebhook("doubly", "hello", { ...signed("github"), key });
    await visit(page, service, "/ui/webhooks/doubly");
    await sender.getByText("GitHub usually sends none").waitFor();
    await sender.getByRole("link", { name: "To the key" }).click();
    const row = page.locator("#access section", { hasText: "GitHub usually sends none" });
    await row.getByRole("button", { name: "Remove the key" }).click();
    await page.getByRole("dialog").getByText("Callers then need a signature.").waitFor();
    await page.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await page.getByRole("dialog").getByRole("button", { name: "Remove the key" }).click();
    await row.waitFor({ state: "detached" });
    assert.equal((await webhook("doubly"))["is_key_required"], false);
  });

  test("in development answer while their user is active here", async () => {
    await service.createWebhook("draft", "hello", { is_productive: false });
    await visit(page, service, "/ui/webhooks/draft#try");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    assert.match(await page.locator(".legs").innerText(), /Final leg\s+200/);
  });

  test("show their pages in a frame that has nothing of the session", async () => {
    await visit(page, service, "/ui/webhooks/status-page#try");
    await page.getByRole("button", { name: "Send" }).click();
    const frame = page.locator("iframe");
    await frame.waitFor();
    assert.equal(await frame.getAttribute("sandbox"), "allow-forms allow-scripts");
    const heading = page.frameLocator("iframe").getByRole("heading", { level: 1 });
    assert.match(await heading.innerText(), /Status/);
    assert.equal(
      await heading.evaluate((node) => node.ownerDocument.defaultView?.origin),
      "null",
      "an opaque origin",
    );
  });

  test("say that each call fails where their flow is gone or broken", async () => {
    const file = join(service.directory, "plugins/passing.ts");
    const put = async (text: string): Promise<void> => {
      writeFileSync(file, text);
      await service.api("POST", "/flow/reload");
    };
    await put("export default () => 1;\n");
    await service.createWebhook("passing", "passing");
    await visit(page, service, "/ui/webhooks/passing");
    await page.getByRole("heading", { name: "Call it" }).waitFor();
    assert.equal(await page.locator("#flow-trouble").count(), 0);
    rmSync(file);
    await service.api("POST", "/flow/reload");
    await visit(page, service, "/ui/webhooks/passing");
    const trouble = page.locator("#flow-trouble");
    await trouble.filter({ hasText: "The flow passing is not in the plugins folder" }).waitFor();
    await put("export default 1;\n");
    await trouble.filter({ hasText: "is broken, and no version of it serves" }).waitFor();
    await put("export default () => 2;\n");
    await trouble.waitFor({ state: "detached" });
    // That a flow is not there is an answer of 404, which the browser tells too.
    errors.splice(0);
  });

  test("say it of the flow that was chosen for them", async () => {
    const file = join(service.directory, "plugins/leaving.ts");
    writeFileSync(file, "export default () => 1;\n");
    await service.api("POST", "/flow/reload");
    await service.createWebhook("leaving", "leaving");
    rmSync(file);
    await service.api("POST", "/flow/reload");
    await visit(page, service, "/ui/webhooks/leaving#settings");
    const trouble = page.locator("#flow-trouble");
    await trouble.filter({ hasText: "The flow leaving is not in the plugins folder" }).waitFor();
    await page.getByLabel("Flow", { exact: true }).selectOption("broken");
    await page.getByRole("button", { name: "Save" }).click();
    await trouble.filter({ hasText: "The flow broken is broken" }).waitFor();
    const read = () => page.waitForRequest((request) => /\/flow\/[a-z]+$/.test(request.url()));
    assert.match((await read()).url(), /broken$/);
    errors.splice(0);
  });

  test("show each leg of a call that waits, and the flow's failure as it is", async () => {
    await visit(page, service, "/ui/webhooks/failing#try");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    assert.match(await page.locator(".legs").innerText(), /Final leg\s+500/);
    assert.match(await page.locator("#try pre").innerText(), /^ENDED_ERROR: /);
    await page.getByLabel("Content of the body").fill("{ not json");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("This is not JSON").waitFor();
    errors.length = 0;
  });

  async function send(webhook: string, body: unknown, more: Record<string, string> = {}) {
    await visit(page, service, `/ui/webhooks/${webhook}#try`);
    await page.getByLabel("Content of the body").fill(JSON.stringify(body));
    for (const [label, text] of Object.entries(more)) await page.getByLabel(label).fill(text);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    return (await page.locator(".legs tbody tr").allInnerTexts()).map((leg) =>
      leg.split(/\s{2,}|\t/),
    );
  }

  test("say what a call needs that they do not take as the commands have it", async () => {
    const idempotency = { from: "header:idempotency-key", required: true };
    await service.createWebhook("picky", "hello", { methods: ["PUT", "GET"], idempotency });
    await visit(page, service, "/ui/webhooks/picky");
    await page.getByText("Calls need the method PUT or GET").waitFor();
    await page.getByText("a new value in the header idempotency-key").waitFor();
    await visit(page, service, "/ui/webhooks/picky#try");
    await page.getByLabel("Headers").fill("idempotency-key: first");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    await page.getByLabel("Method").selectOption("DELETE");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("It takes PUT, GET alone.").waitFor();
    errors.length = 0;
  });

  test("are called through a key or a signature, or say which is missing", async () => {
    const key = "a-key-of-this-test";
    await service.createWebhook("locked", "hello", { key });
    await send("locked", {}, { Key: key });
    assert.match(await page.locator(".legs").innerText(), /First leg\s+303[^]*Final leg\s+200/);
    await send("locked", {}, { Key: "", Query: `key=${key}` });
    await send("locked", { key }, { Query: "" });
    await page.getByLabel("Content of the body").fill("{}");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Its key is missing or wrong.").waitFor();

    await service.api("POST", "/secret", { name: "TOKEN", value: "a token of the sender" });
    const signature = { scheme: "gitlab_token", secrets: ["TOKEN"] };
    await service.createWebhook("tokened", "hello", { signature });
    await send("tokened", {}, { Headers: "x-gitlab-token: a token of the sender" });
    assert.match(await page.locator(".legs").innerText(), /All legs\s+200/);
    await page.getByLabel("Headers").fill("");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Its signature is missing or wrong.").waitFor();
    await page.getByRole("link", { name: "The command that signs" }).click();
    await page.getByText("Signed as its sender signs").waitFor();
    errors.length = 0;
  });

  test("show the legs of a call that is longer than a poll window", async () => {
    const legs = await send("slow", {}, { Query: "seconds=2" });
    const [first, ...others] = legs.map(([, status]) => status);
    assert.equal(first, "303");
    assert.equal(others.pop(), "200");
    assert.ok(others.length > 0 && others.every((status) => status === "302"), String(legs));
  });

  test("show a flow's own redirect instead of following it", async () => {
    const headers = { location: "https://example.test/" };
    const step = { webhook_response: { status: 307, headers, body: "over there" } };
    const legs = await send("answer", { steps: [step] });
    // A busy machine may take longer than a poll window: then there are legs between.
    const statuses = legs.map(([, status]) => status);
    assert.match(statuses.join(" "), /^303( 302)* 307$/);
    assert.match(await page.locator("#try").innerText(), /over there/);
  });

  test("show numbers with all their digits", async () => {
    const step = {
      webhook_response: {
        status: 200,
        headers: { "content-type": "application/json" },
        body: '{"id": 12345678901234567890, "price": 1.0}',
      },
    };
    await send("answer", { steps: [step] });
    const shown = await page.locator("#try .json").innerText();
    assert.match(shown, /12345678901234567890/);
    assert.match(shown, /1\.0/);
  });

  test("have the tabs that the manual names", async () => {
    const manual = readFileSync(join(ROOT, "src/assets/docs/user-interface.md"), "utf8");
    const table = /\| Tab of a webhook \|.*\n.*\n((?:\|.*\n)+)/.exec(manual)?.[1] ?? "";
    const named = [...table.matchAll(/^\| (.*?) \|/gm)].map(([, name]) => name);
    await visit(page, service, "/ui/webhooks/hello");
    assert.deepEqual(await page.getByRole("tab").allInnerTexts(), named);
  });

  test("ask the service by keys alone", async () => {
    await visit(page, service, "/ui/webhooks/hello");
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(":focus").innerText(), "Skip to the content");
    await page.getByRole("tab", { name: "Use", exact: true }).focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.locator(":focus").innerText(), "Try it");
    await page.getByLabel("Content of the body").focus();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    const calls: string[] = [];
    page.on("request", (request) => calls.push(`${request.method()} ${request.url()}`));
    const twice = "document.querySelector('form.try').requestSubmit();";
    await page.evaluate(twice + twice);
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    assert.equal(calls.filter((one) => /^POST .*\/call$/.test(one)).length, 1, "one at a time");
  });

  test("are deleted after a confirmation", async () => {
    await visit(page, service, "/ui/webhooks/draft#settings");
    await page.locator("#ending").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/ui\/webhooks$/);
    await settled(page);
    assert.equal((await service.api("GET", "/webhook/draft")).status, 404);
    assert.deepEqual(errors, []);
  });
});

test(
  "the first flow comes to the pages that wait for it, by itself",
  { skip: noBrowser },
  async () => {
    await using opened = new AsyncDisposableStack();
    const service = opened.adopt(await startService({}), async (own) => {
      await own.stop();
    });
    const browser = opened.adopt(await openBrowser(), (own) => own.close());
    const context = await openWindow(browser, service);
    const { page: flows } = await openPage(context);
    await visit(flows, service, "/ui/flows");
    await flows.getByText("There is no flow yet").waitFor();
    const { page: form } = await openPage(context);
    await visit(form, service, "/ui/new-webhook");
    await form.getByText("There is no flow yet").waitFor();
    const name = form.getByLabel("Name", { exact: true });
    await name.fill("orders");
    await copyFile(join(ROOT, "plugins/hello.ts"), join(service.directory, "plugins/hello.ts"));
    await service.reloadFlows();
    await flows.getByRole("rowheader", { name: "hello" }).waitFor();
    await form.getByText("What a call starts.").waitFor();
    assert.equal(await form.getByLabel("Flow", { exact: true }).inputValue(), "hello");
    assert.equal(await name.and(form.locator(":focus")).inputValue(), "orders");
  },
);
