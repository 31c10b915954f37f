import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { startService, type Service } from "../blackbox/service.ts";
import { poll } from "../blackbox/scenario.ts";
import { ROOT } from "../blackbox/target.ts";
import { openPostgres } from "../postgres-server.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";

describe("a call from its page that takes long", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  before(async () => {
    const plugins = [join(ROOT, "plugins/slow.ts")];
    service = await startService({ plugins, config: { WAIT_POLL_WINDOW_SEC: 1 } });
    await service.createWebhook("redirected", "slow");
    await service.createWebhook("held", "slow", { sync_mode: "hold" });
    browser = await openBrowser();
    ({ page } = await openPage(await openWindow(browser, service)));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const result = () => page.locator("#try");

  async function send(webhook: string): Promise<void> {
    await visit(page, service, `/ui/webhooks/${webhook}#try`);
    await page.getByLabel("Query").fill("seconds=60");
    await page.getByRole("button", { name: "Send" }).click();
  }

  async function cancel(): Promise<void> {
    await result().getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel it" }).click();
  }

  for (const webhook of ["held", "redirected"])
    test(`${webhook}: has its execution in another tab, and is cancelled`, async () => {
      await send(webhook);
      await result().getByRole("timer").getByText("so far").waitFor();
      const opening = page.context().waitForEvent("page");
      await result().getByRole("link", { name: "Watch its execution" }).click();
      const other = await opening;
      await other.locator("#badges", { hasText: "Running" }).waitFor();
      await result().getByRole("timer").waitFor();
      await cancel();
      await result().getByText("ENDED_CANCELLED: Cancelled by the user admin").waitFor();
      assert.equal(await result().getByRole("timer").count(), 0);
      await other.locator("#badges", { hasText: "Cancelled" }).waitFor();
      await other.close();
    });

  test("finds its execution where many others come at the same time", async () => {
    const running = "/execution?webhook=redirected&status=RUNNING";
    const begun = () =>
      poll("the call's execution", async () => {
        const { body } = await service.api("GET", running);
        return (body as { items: unknown[] }).items[0] ?? null;
      });
    const url = `${service.url}/api/latest/webhook/redirected/call?async&seconds=0`;
    const others = page.waitForRequest(/\/redirected\/call/).then(async () => {
      await begun();
      for (let count = 0; count < 110; count += 1) await fetch(url, { method: "POST" });
    });
    const isSearch = (address: URL) => address.searchParams.get("order") === "asc";
    await page.route(isSearch, async (route) => {
      await others;
      await route.continue();
    });
    const reads = readsOf(page);
    await send("redirected");
    await result().getByRole("link", { name: "Watch its execution" }).waitFor();
    await page.unroute(isSearch);
    assert.ok(reads.length <= 2, `${reads.length} executions were read`);
    await cancel();
    await result().getByText("ENDED_CANCELLED: Cancelled by the user admin").waitFor();
  });

  test("has the answer of an earlier call with its key, and says so", async () => {
    await service.createWebhook("once", "slow", {
      idempotency: { from: "header:idempotency-key" },
    });
    await visit(page, service, "/ui/webhooks/once#try");
    await page.getByLabel("Query").fill("seconds=0");
    await page.getByLabel("Headers").first().fill("Idempotency-Key: order-1");
    // It is announced as well, a moment later.
    const note = result().locator("p", { hasText: "the answer of an earlier call" });
    const opened = result().getByRole("link", { name: "Open its execution" });
    const isFinal = result().locator(".legs", { hasText: "Final leg" });
    await page.getByRole("button", { name: "Send" }).click();
    await opened.waitFor();
    const first = await opened.getAttribute("href");
    assert.equal(await note.count(), 0);
    await result().getByRole("button", { name: "Clear" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await note.waitFor();
    await isFinal.waitFor();
    assert.equal(await opened.getAttribute("href"), first);
    await result().getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Asynchronous").check();
    await page.getByRole("button", { name: "Send" }).click();
    await note.waitFor();
    const { body } = await service.api("GET", "/execution?webhook=once");
    assert.equal((body as { items: unknown[] }).items.length, 1);
  });

  test("is sent where nothing can be looked for", async () => {
    const isList = /\/execution\?webhook=/;
    await page.route(isList, (route) => route.fulfill({ status: 500 }));
    await visit(page, service, "/ui/webhooks/redirected#try");
    await page.getByLabel("Query").fill("seconds=0");
    await page.getByRole("button", { name: "Send" }).click();
    await result().getByText("waited_seconds").waitFor();
    await page.unroute(isList);
  });

  test("asks before its page is left, until it is answered", async () => {
    const asked: string[] = [];
    let answer: "accept" | "dismiss" = "dismiss";
    page.on("dialog", (dialog) => {
      asked.push(dialog.type());
      dialog[answer]().catch(() => {});
    });
    await send("held");
    const link = result().getByRole("link", { name: "Watch its execution" });
    await link.waitFor();
    const overview = page.getByRole("link", { name: "Overview" });
    const question = page.waitForEvent("dialog");
    await overview.click({ noWaitAfter: true });
    await question;
    await cancel();
    await result().getByText("ENDED_CANCELLED").waitFor();
    answer = "accept";
    await overview.click();
    await page.waitForURL(/\/ui\/$/);
    assert.deepEqual(asked, ["beforeunload"]);
  });
});

function readsOf(page: Page): readonly string[] {
  const reads: string[] = [];
  page.on("request", (request) => {
    if (/\/execution\/[^/]+$/.test(request.url())) reads.push(request.url());
  });
  return reads;
}

test(
  "a call at a node is looked for among those that came after it",
  { skip: noBrowser },
  async () => {
    await using opened = new AsyncDisposableStack();
    const server = await openPostgres();
    opened.defer(() => server.stop());
    const plugins = [join(ROOT, "plugins/slow.ts")];
    const config = { DATABASE_URL: await server.createDatabase(), WAIT_POLL_WINDOW_SEC: 1 };
    const service = await startService({ plugins, config });
    opened.defer(async () => void (await service.stop()));
    await service.createWebhook("slow", "slow");
    const browser = await openBrowser();
    opened.defer(() => browser.close());
    const { page } = await openPage(await openWindow(browser, service));
    await visit(page, service, "/ui/webhooks/slow#try");
    await page.getByLabel("Query").fill("seconds=60");
    const url = `${service.url}/api/latest/webhook/slow/call?async&seconds=0`;
    await Promise.all(Array.from({ length: 20 }, () => fetch(url, { method: "POST" })));
    const reads = readsOf(page);
    await page.getByRole("button", { name: "Send" }).click();
    const link = page.locator("#try").getByRole("link", { name: "Watch its execution" });
    await link.waitFor();
    assert.equal(reads.length, 1);
    const id = (await link.getAttribute("href"))?.split("/").at(-1);
    await service.api("POST", `/execution/${id}/cancel`);
  },
);
