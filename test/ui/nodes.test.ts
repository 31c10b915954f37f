import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startService, type Service } from "../blackbox/service.ts";
import { openPostgres } from "../postgres-server.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";

test("the system page lists the nodes of a database", { skip: noBrowser }, async () => {
  await using opened = new AsyncDisposableStack();
  const server = await openPostgres();
  opened.defer(() => server.stop());
  const config = { DATABASE_URL: await server.createDatabase(), NODE_NAME: "<east>" };
  const service = await startService({ config });
  opened.defer(async () => void (await service.stop()));
  const browser = await openBrowser();
  opened.defer(() => browser.close());
  const { page, errors } = await openPage(await openWindow(browser, service));
  await visit(page, service, "/ui/admin/system");
  const row = page.locator("#nodes tbody tr");
  assert.match(await row.innerText(), /<east>\s+answers you\s+Ready\s+0\s+0\s+\d/);
  await page.setViewportSize({ width: 360, height: 740 });
  const isTooWide = "document.documentElement.scrollWidth > innerWidth";
  assert.equal(await page.evaluate(isTooWide), false);
  assert.deepEqual(errors, []);
});

test(
  "flows say which node has which version, and nothing while nodes agree",
  { skip: noBrowser },
  async () => {
    await using opened = new AsyncDisposableStack();
    const server = await openPostgres();
    opened.defer(() => server.stop());
    const config = {
      DATABASE_URL: await server.createDatabase(),
      DATA_KEY: "0123456789abcdef".repeat(4),
    };
    const start = async (NODE_NAME: string) => {
      const service = await startService({ config: { ...config, NODE_NAME } });
      opened.defer(async () => void (await service.stop()));
      return service;
    };
    const [east, west] = [await start("<east>"), await start("west")];
    const write = (service: Service, name: string, word: string) =>
      writeFile(
        join(service.directory, "plugins", `${name}.ts`),
        `export default () => "${word}";\n`,
      );
    for (const service of [east, west]) await write(service, "alike", "same");
    await write(east, "hello", "old");
    await write(west, "hello", "new");
    for (const service of [west, east]) await service.reloadFlows();
    const browser = await openBrowser();
    opened.defer(() => browser.close());
    const { page, errors } = await openPage(await openWindow(browser, east));
    await visit(page, east, "/ui/flows");
    assert.match(
      await page.locator("tbody tr", { hasText: "hello" }).innerText(),
      /Ready\s+Nodes differ/,
    );
    assert.doesNotMatch(await page.locator("tbody tr", { hasText: "alike" }).innerText(), /differ/);
    await visit(page, east, "/ui/flows/hello");
    const rows = await page.locator("#differing tbody tr").allInnerTexts();
    assert.match(rows.join("\n"), /^<east>\s+[0-9a-f]{16}\nwest\s+[0-9a-f]{16}$/);
    await page.locator("#differing a").last().click();
    await page.getByText('"new"').waitFor();
    await visit(page, east, "/ui/flows/alike");
    assert.equal(await page.locator("#differing").count(), 0);
    await page.setViewportSize({ width: 360, height: 740 });
    await visit(page, east, "/ui/flows/hello");
    assert.equal(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false);
    assert.deepEqual(errors, []);
  },
);
