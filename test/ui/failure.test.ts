import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { poll } from "../blackbox/scenario.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";
import { call } from "./workshop.ts";

const REASON = "The order has no lines";
const WEBHOOK = "shop-orders";

const HELPER = `export function countOf(order: { lines?: number[] }): number {
  if (order.lines === undefined) throw new Error("${REASON}");
  return order.lines.length;
}
`;
const PLACE = "lib/order.ts:2:40";

const FLOW = `import { defineFlow } from "flowhook";
import { countOf } from "./lib/order.ts";

export default defineFlow({
  run(flow) {
    flow.log.debug("Counts");
    if (flow.input_value.query["here"] !== undefined) throw new Error("Failed here");
    return countOf(flow.input_value.json as object);
  },
});
`;

describe("a failed execution is understood", () => {
  let service: Service;
  let id: string;
  before(async () => {
    service = await startService();
    const plugins = join(service.directory, "plugins");
    await mkdir(join(plugins, "lib"));
    await writeFile(join(plugins, "lib/order.ts"), HELPER);
    await writeFile(join(plugins, "counting.ts"), FLOW);
    await service.api("POST", "/flow/reload");
    await service.createWebhook(WEBHOOK, "counting");
    const response = await call(service, WEBHOOK, {});
    assert.equal(response.status, 500);
    id = response.headers.get("flowhook-execution-id") ?? "";
  });
  after(() => service?.stop());

  test("from its line in the service's log alone", async () => {
    const line = await poll("the line of the log", async () => {
      const lines = service.logs().split("\n").slice(0, -1);
      return lines.find((one) => one.includes(id) && one.includes('"level":"warn"')) ?? null;
    });
    const { webhook, message, place } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual(
      { webhook, message, place },
      { webhook: WEBHOOK, message: REASON, place: PLACE },
    );
  });

  test("from the API alone", async () => {
    const { body } = await service.api("GET", `/execution/${id}`);
    const { webhook, status_message } = body as Record<string, unknown>;
    assert.deepEqual({ webhook, status_message }, { webhook: WEBHOOK, status_message: REASON });
    const log = await service.api("GET", `/execution/${id}/log`);
    const { items } = log.body as { items: { level: string; text: string }[] };
    const [newest = ""] = items.filter(({ level }) => level === "error").map(({ text }) => text);
    assert.ok(newest.startsWith(`Error: ${REASON}\n`), newest);
    assert.match(newest.split("\n")[1] ?? "", new RegExp(`\\(${PLACE}\\)$`));
  });

  describe("in the browser", { skip: noBrowser }, () => {
    let browser: Browser;
    let page: Page;
    let errors: string[];
    before(async () => {
      browser = await openBrowser();
      ({ page, errors } = await openPage(await openWindow(browser, service)));
    });
    after(() => browser?.close());

    test("from its page alone, which says it first", async () => {
      await visit(page, service, `/ui/executions/${id}`);
      assert.equal(await page.locator("h1").innerText(), WEBHOOK);
      const failure = page.locator("#failure");
      assert.ok((await failure.innerText()).startsWith(`${REASON}\n\nin ${PLACE}\n`));
      assert.match(await failure.locator(".line-of-code.here").innerText(), /throw new Error/);
      const colour = 'getComputedStyle(document.querySelector("#failure")).color';
      const [red, green] = (await page.evaluate<string>(colour)).match(/\d+/g) ?? [];
      assert.ok(Number(red) > 2 * Number(green), "it is red");
      const said = await page.locator("main").innerText();
      assert.ok(said.indexOf(REASON) < said.indexOf("What the caller got"));
      const caller = page.locator("#response");
      assert.match(await caller.innerText(), new RegExp(`500\\s+ENDED_ERROR: ${REASON}`));
      await failure.getByRole("link", { name: PLACE }).click();
      await page.waitForURL(/\/ui\/flows\/counting\/versions\//);
      await settled(page);
      assert.equal(await page.locator("h2").innerText(), "lib/order.ts");
      assert.match(await page.locator("#error-line").innerText(), /new Error\("The order has/);
    });

    test("by the line of the version that ran, also when it serves no more", async () => {
      const path = `/api/latest/webhook/${WEBHOOK}/call?here`;
      const response = await fetch(service.url + path, { method: "POST" });
      const execution = `/ui/executions/${response.headers.get("flowhook-execution-id")}`;
      await writeFile(join(service.directory, "plugins/counting.ts"), `// Changed\n${FLOW}`);
      await service.api("POST", "/flow/reload");
      await visit(page, service, execution);
      await page.getByRole("link", { name: "counting.ts:7:" }).click();
      await page.waitForURL(/\/ui\/flows\/counting\/versions\/.*line=7/);
      await settled(page);
      assert.match(await page.locator("#error-line").innerText(), /new Error\("Failed here"\)/);
      await page.getByText("Older version").waitFor();
      await page.getByRole("link", { name: "lib/order.ts" }).click();
      await page.getByRole("heading", { name: "lib/order.ts" }).waitFor();
      await settled(page);
      assert.equal(await page.locator("#error-line").count(), 0);
      await page.getByRole("link", { name: "The flow as it is now" }).click();
      await page.waitForURL(/\/ui\/flows\/counting$/);
      await settled(page);
      await page.locator(".source", { hasText: "// Changed" }).waitFor();
      assert.deepEqual(errors, []);
    });

    test("and the page of its flow follows the file that is mended", async () => {
      const file = join(service.directory, "plugins/counting.ts");
      const mended = await readFile(file, "utf8");
      await writeFile(file, 'throw new Error("Not ready yet");\nexport default 1;\n');
      await service.api("POST", "/flow/reload");
      await visit(page, service, "/ui/flows/counting");
      const trouble = page.locator(".trouble");
      assert.match(await trouble.innerText(), /Not ready yet/);
      // A file of the same name in another folder is none of the flow.
      const other = "throw".padStart(60, "\n");
      const helper = join(service.directory, "plugins/lib/counting.ts");
      await writeFile(helper, `${other} new Error("Not ready there");\nexport const count = 1;\n`);
      await writeFile(
        file,
        '\nimport { count } from "./lib/counting.ts";\nexport default count;\n',
      );
      await service.api("POST", "/flow/reload");
      await trouble.getByText("lib/counting.ts:56:").first().waitFor();
      assert.equal(await trouble.getByRole("link").count(), 0);
      await writeFile(file, mended);
      await service.api("POST", "/flow/reload");
      await trouble.waitFor({ state: "detached" });
      await page.locator(".badges", { hasText: "Ready" }).waitFor();
      await page.locator(".source", { hasText: "countOf" }).waitFor();
      assert.deepEqual(errors, []);
    });

    test("with the levels of its log, and the log as a file", async () => {
      await visit(page, service, `/ui/executions/${id}`);
      const log = page.getByRole("log");
      assert.match(await log.innerText(), /Counts[^]*Error:/);
      await page.getByRole("button", { name: "debug 1" }).click();
      await log.getByText("Counts").waitFor({ state: "detached" });
      assert.match(await log.innerText(), /Error:/);
      const downloading = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download" }).click();
      const download = await downloading;
      assert.equal(download.suggestedFilename(), `${id}.log`);
      const text = await readFile(await download.path(), "utf8");
      assert.match(text, /^\d{4}-\d\d-\d\dT[\d:.]+Z debug Counts\n[^]*Z error Error: The order/);
      assert.deepEqual(errors, []);
    });

    test("without a link where the version is kept no more", async () => {
      await rm(join(service.directory, "data/versions/counting"), { recursive: true });
      await visit(page, service, `/ui/executions/${id}`);
      const failure = page.locator("#failure");
      assert.equal(await failure.innerText(), `${REASON}\n\nin ${PLACE}`);
      assert.equal(await failure.getByRole("link").count(), 0);
      // The browser notes the 404 that told.
      assert.equal(errors.splice(0).length, 1);
    });
  });
});
