import assert from "node:assert/strict";
import { test } from "node:test";
import { startService } from "../blackbox/service.ts";
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
