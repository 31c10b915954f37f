import assert from "node:assert/strict";
import { test } from "node:test";
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { startService } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openStrangeWindow } from "./browser.ts";

/** What is in the markup of Swagger UI, which no stylesheet changes; where, and why it stays. */
const KNOWN: Readonly<Record<string, readonly [selector: string, reason: string]>> = {
  "heading-order": ["h3.opblock-tag", "the groups of operations are h3 below an h1"],
  label: ["textarea.body-param__text", "the body to try has no label, and comes and goes"],
  "landmark-unique": ["table.responses-table", "each table of answers is a region without a name"],
  "nested-interactive": ["button.opblock-summary-control", "its button has a link in it"],
  "scrollable-region-focusable": ["pre.microlight", "an example scrolls, and takes no focus"],
};

const OPERATIONS = ["get_webhook_name", "post_webhook"];

test(
  "the reference has nothing for axe but what is Swagger UI's own",
  { skip: noBrowser },
  async () => {
    await using opened = new AsyncDisposableStack();
    const service = opened.adopt(await startService(), async (own) => {
      await own.stop();
    });
    const browser = opened.adopt(await openBrowser(), (own) => own.close());
    const { page, errors } = await openPage(await openStrangeWindow(browser));
    await page.goto(`${service.url}/api/latest/reference`);
    for (const name of OPERATIONS) {
      const operation = page.locator(`#operations-webhook-${name}`);
      await operation.getByRole("button").first().click();
      await operation.locator(".responses-table").first().waitFor();
    }
    const post = page.locator("#operations-webhook-post_webhook");
    await post.getByRole("button", { name: "Try it out" }).click();
    for (const width of [1440, 390])
      for (const colorScheme of ["light", "dark"] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        const look = colorScheme === "dark" ? "html.dark-mode" : "html:not(.dark-mode)";
        await page.locator(look).waitFor();
        // Colours of its buttons and links fade.
        await page.evaluate(
          "Promise.all(document.getAnimations().map(({ finished }) => finished.catch(() => {})))",
        );
        const found = await violationsOf(page);
        assert.deepEqual([...found].toSorted(), Object.keys(KNOWN), `${colorScheme}, ${width}`);
      }
    assert.deepEqual(errors, []);
  },
);

/** Rules that were broken; in other places than those that are known, with the element. */
async function violationsOf(page: Page): Promise<Set<string>> {
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  if (!(await page.evaluate(`"axe" in window`))) await page.evaluate(axe.source);
  const options = { runOnly: tags, resultTypes: ["violations"] };
  const act = `axe.run(document, ${JSON.stringify(options)})`;
  const { violations } = await page.evaluate<AxeResults>(act);
  const found = new Set<string>();
  for (const { id, nodes } of violations)
    for (const { target, html } of nodes) {
      const [selector = "html"] = target.map(String);
      const place = `.swagger-ui ${KNOWN[id]?.[0] ?? "none"}`;
      const isKnown = await page
        .locator(selector)
        .first()
        .evaluate((element, known) => element.matches(known), place);
      found.add(isKnown ? id : `${id}: ${html}`);
    }
  return found;
}
