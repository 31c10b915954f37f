import assert from "node:assert/strict";
import { test } from "node:test";
import { noBrowser, openBrowser, openPage } from "../ui/browser.ts";
import { openHouse } from "./house.ts";

test(
  "the reference page works under its policy, with nothing from elsewhere",
  {
    skip: noBrowser,
  },
  async () => {
    await using house = await openHouse();
    const browser = await openBrowser();
    try {
      const { page, faults } = await openPage(await browser.newContext());
      page.setDefaultTimeout(15_000);
      page.on("request", (request) => {
        const is_own = request.url().startsWith(house.url) || request.url().startsWith("data:");
        if (!is_own) faults.push(`It asked for ${request.url()}`);
      });
      await page.goto(`${house.url}/api/latest/reference`);
      await page.getByText("Follow executions as they change").waitFor();
      const operation = page.locator("#operations-webhook-get_webhook_name");
      await operation.getByRole("button").first().click();
      await operation.locator(".responses-table").first().waitFor();
      assert.deepEqual(faults, []);
    } finally {
      await browser.close();
    }
  },
);
