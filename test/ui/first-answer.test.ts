import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { ADMIN_PASSWORD, startService, type Service } from "../blackbox/service.ts";
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

/** Counts what a person does: clicks, and texts that are typed. */
function openHand(page: Page) {
  const done = { clicks: 0, names: 0, passwords: 0 };
  return {
    done,
    async click(role: "button" | "link", name: string): Promise<void> {
      done.clicks += 1;
      await page.getByRole(role, { name, exact: true }).click();
    },
    async choose(label: string, name: string): Promise<void> {
      done.clicks += 1;
      await page.getByLabel(label, { exact: true }).selectOption(name);
    },
    async type(label: string, text: string): Promise<void> {
      if (text === ADMIN_PASSWORD) done.passwords += 1;
      else done.names += 1;
      await page.getByLabel(label, { exact: true }).fill(text);
    },
  };
}

/** What is to be copied after the creation: the URL, the key, and a call, which knows the flow's input. */
async function shownLines(page: Page): Promise<readonly string[]> {
  await page.locator(".secret code").nth(2).waitFor();
  return page.locator(".secret code").allInnerTexts();
}

/** A line as it is pasted into a terminal. */
async function runLine(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-c", line]);
  return stdout;
}

describe("the way", { skip: noBrowser }, () => {
  let browser: Browser;
  before(async () => {
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await Promise.all(services.map((service) => service.stop()));
  });

  const services: Service[] = [];
  const open = async (opening: Promise<Service>): Promise<Service> => {
    const service = await opening;
    services.push(service);
    return service;
  };

  test("from the sign-in to a first answered call is short", async () => {
    const service = await open(startService({ flows: ["echo", "identity"] }));
    const context = await openStrangeWindow(browser);
    const { page, errors } = await openPage(context);
    await page.goto(`${service.url}/`);
    await logIn(page);
    await page.waitForURL(/\/ui\/$/);
    await settled(page);
    assert.ok(await page.getByText("Nothing was called yet").isVisible(), "what to do first");
    const steps = page.locator("#start li");
    assert.match((await steps.allInnerTexts())[0] ?? "", /2 flows\s.*\/plugins\s/s);
    assert.ok(await steps.getByRole("link", { name: "Create a webhook" }).isVisible());

    const hand = openHand(page);
    await hand.click("link", "New webhook");
    await settled(page);
    await hand.type("Name", "first");
    await hand.choose("Flow", "echo");
    await hand.click("button", "Create");
    const [url, key = "", line] = await shownLines(page);
    assert.match(url ?? "", /\/webhook\/first\/call$/);
    assert.match(key, /^fhk_/);
    await hand.type("Your password", ADMIN_PASSWORD);
    await hand.click("button", "Enable");
    await hand.click("button", "Send");
    const legs = page.locator(".legs tbody tr");
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    const rows = await legs.allInnerTexts();
    assert.equal(rows.length, 2);
    assert.match(rows[0] ?? "", /First leg\s+303/);
    assert.match(rows[1] ?? "", /Final leg\s+200/);
    assert.ok(hand.done.clicks <= 8, `${hand.done.clicks} clicks`);
    assert.deepEqual(hand.done, { clicks: 5, names: 1, passwords: 1 });
    assert.match(await runLine(line ?? ""), /"name":"Ada"/, "the line is a whole call");

    const { body } = await service.api("GET", "/webhook/first");
    assert.equal((body as Record<string, unknown>)["is_enabled"], true);
    await page.reload();
    await settled(page);
    assert.match(page.url(), /\/ui\/webhooks\/first$/);
    assert.ok(!(await page.content()).includes(key), "the key is shown once");
    assert.deepEqual(errors, []);
    await context.close();
  });

  test("from a failed call on the overview to its log is one click", async () => {
    const service = await open(openWorkshop());
    const context = await openStrangeWindow(browser);
    const { page } = await openPage(context);
    await page.goto(`${service.url}/`);
    await logIn(page);
    await page.waitForURL(/\/ui\/$/);
    await settled(page);
    const tiles = await page.locator(".tiles").innerText();
    assert.match(tiles, /Calls\s+9\s+Failed\s+44%\s+4 of 9\s/);
    assert.match(tiles, /Waiting now\s+0\s+of at most \d/);
    assert.equal(await page.locator(".plot > .uplot").count(), 2, "each chart is drawn once");
    assert.ok((await page.locator("#slowest tbody tr").count()) >= 3, "webhooks by duration");
    await page.locator("#failures").getByRole("link", { name: "failing" }).first().click();
    await settled(page);
    assert.match(await page.getByRole("log").innerText(), /The shelf is empty/);
    await context.close();
  });

  test("from the overview to the failures of the webhook that fails most is one click", async () => {
    const service = await open(openWorkshop());
    const { page } = await openPage(await openWindow(browser, service));
    await visit(page, service, "/ui/");
    const row = page.locator("#failing tbody tr").first();
    await row.getByRole("link", { name: "failing", exact: true }).waitFor();
    assert.match(await row.innerText(), /failing\s+3\s+100%\s+3/);
    await row.getByRole("link", { name: "3 failures of failing" }).click();
    await settled(page);
    const rows = page.locator(".list tbody tr");
    assert.equal(await rows.count(), 3);
    assert.equal(await rows.getByText("failing").count(), 3);
    await page.goBack();
    await page.locator("#failing").waitFor();
  });

  test("loads its first page in less than 100 KB and 200 ms of script", async (t) => {
    const service = await open(openWorkshop());
    const { bytes, script_ms } = await firstVisit(service.url);
    t.diagnostic(`${bytes} bytes, ${script_ms.toFixed(0)} ms of script`);
    assert.ok(bytes > 10_000 && bytes < 100_000, `${bytes} bytes`);
    assert.ok(script_ms > 0 && script_ms < 200, `${script_ms} ms`);
  });

  /** Login and overview, of somebody whose browser has nothing of the service yet. */
  async function firstVisit(url: string): Promise<{ bytes: number; script_ms: number }> {
    const context = await openStrangeWindow(browser);
    const { page } = await openPage(context);
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    // Of the processor, not of the clock: others have the cores too.
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    let bytes = 0;
    session.on("Network.loadingFinished", ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.goto(`${url}/ui/login`);
    await logIn(page);
    await page.waitForURL(/\/ui\/$/);
    await settled(page);
    const { metrics } = await session.send("Performance.getMetrics");
    await context.close();
    return {
      bytes,
      script_ms: 1000 * (metrics.find(({ name }) => name === "ScriptDuration")?.value ?? 0),
    };
  }
});
