import assert from "node:assert/strict";
import { test } from "node:test";
import { noBrowser, openBrowser, openPage } from "../ui/browser.ts";
import { HUNG_MS } from "../hung.ts";
import { openTestService } from "./test-service.ts";

test(
  "the reference page works under its policy, with nothing from elsewhere",
  {
    skip: noBrowser,
  },
  async () => {
    await using service = await openTestService();
    const browser = await openBrowser();
    try {
      const { page, errors } = await openPage(await browser.newContext());
      page.setDefaultTimeout(HUNG_MS);
      page.on("request", (request) => {
        const isOwn = request.url().startsWith(service.url) || request.url().startsWith("data:");
        if (!isOwn) errors.push(`It asked for ${request.url()}`);
      });
      await page.goto(`${service.url}/api/latest/reference`);
      await page.getByText("Follow executions as they change").waitFor();
      const operation = page.locator("#operations-webhook-get_webhook_name");
      await operation.getByRole("button").first().click();
      await operation.locator(".responses-table").first().waitFor();
      assert.deepEqual(errors, []);
      // Answers of flows are of this origin, too.
      const url = `${service.url}/api/latest/reference/reference.js`;
      await assert.rejects(page.addScriptTag({ url }), /Content Security Policy|Failed to load/);
      const root = page.locator("html");
      const isDark = () => root.evaluate((html) => html.classList.contains("dark-mode"));
      assert.equal(await isDark(), false);
      await page.emulateMedia({ colorScheme: "dark" });
      // Dark where the browser is; the page is told of it with its next frame.
      await page.locator("html.dark-mode").waitFor({ state: "attached" });
      await page.getByRole("link", { name: "Overview" }).click();
      await page.waitForURL(/\/ui\/login/);
    } finally {
      await browser.close();
    }
  },
);
