import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import axe, { type AxeResults, type RunOptions } from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import {
  noBrowser,
  openBrowser,
  openPage,
  openStrangeWindow,
  openWindow,
  visit,
} from "./browser.ts";
import { pagesOf } from "./pages.ts";
import { openWorkshop } from "./workshop.ts";

/** Of a desk, and of a phone. */
const WIDTHS = [1440, 390];

/** Of the smallest phones, or a window at four times its size. */
const NARROWEST = 320;

describe("the pages", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  test("have nothing to mend for axe, light and dark, wide and on a phone", async (t) => {
    const context = await openWindow(browser, service);
    for (const [name, path] of Object.entries(await pagesOf(service)))
      await t.test(name, () =>
        withPage(context, name, async (page) => {
          await visit(page, service, path);
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 900 });
            for (const colorScheme of ["light", "dark"] as const) {
              await page.emulateMedia({ colorScheme });
              // The look changes colours and nothing else.
              const rules = colorScheme === "dark" ? ["color-contrast"] : [];
              assert.deepEqual(await violationsOf(page, rules), [], `${colorScheme}, ${width}`);
            }
            await assertFits(page, name);
          }
          await page.setViewportSize({ width: NARROWEST, height: 900 });
          await assertFits(page, name);
          assert.notEqual(await page.title(), "owned", "script of a caller stays inert");
        }),
      );
    await context.close();
  });

  test("are not pushed apart by figures that come", async () => {
    for (const isNarrow of [false, true]) {
      const context = await openWindow(browser, service, { isNarrow });
      const { page } = await openPage(context);
      await page.addInitScript(`window.shift = 0;
        new PerformanceObserver((list) => {
          for (const { value } of list.getEntries()) window.shift += value;
        }).observe({ type: "layout-shift", buffered: true });`);
      for (const path of ["/ui/", "/ui/webhooks/failing#calls"]) {
        await visit(page, service, path);
        await page.locator(".chart .u-legend").first().waitFor();
        await page.evaluate(
          "new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))",
        );
        const shift = await page.evaluate<number>("window.shift");
        assert.ok(shift < 0.1, `${path}, ${isNarrow ? "narrow" : "wide"}: ${shift}`);
      }
      await context.close();
    }
  });

  test("break no name of a role on the smallest phones", async () => {
    const roles = ["operator", "developer"];
    const { status } = await service.api("POST", "/user", {
      name: "ada",
      password: "a password of ada",
      roles,
      own_password: ADMIN_PASSWORD,
    });
    assert.equal(status, 201);
    const context = await openWindow(browser, service);
    await withPage(context, "roles", async (page) => {
      await page.setViewportSize({ width: NARROWEST, height: 900 });
      for (const path of ["/ui/admin/users", "/ui/admin/roles"]) {
        await visit(page, service, path);
        for (const name of roles)
          assert.equal(await page.evaluate(linesOf(name)), 1, `${name} on ${path}`);
      }
    });
    await context.close();
  });

  test("have nothing to mend for axe in a dialog", async () => {
    const context = await openWindow(browser, service);
    await withPage(context, "dialog", async (page) => {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await visit(page, service, "/ui/executions");
        await page.keyboard.press("?");
        await page.getByRole("dialog").waitFor();
        assert.deepEqual(await violationsOf(page), [], colorScheme);
      }
    });
    await context.close();
  });

  test("have nothing to mend for axe at the login screen", async () => {
    for (const isDark of [false, true]) {
      const context = await openStrangeWindow(browser, { isDark });
      await withPage(context, "login", async (page) => {
        await page.goto(`${service.url}/ui/login?next=%2Fui%2F&ended=1`);
        assert.deepEqual(await violationsOf(page), []);
      });
      await context.close();
    }
  });

  test("are looked at by an axe that finds something where there is something", async () => {
    const context = await openWindow(browser, service);
    const { page } = await openPage(context);
    await visit(page, service, "/ui/flows");
    await page.locator("h1").evaluate((heading) => {
      heading.style.color = "#999";
      heading.setAttribute("role", "checkbox");
    });
    const found = await violationsOf(page);
    assert.ok(found.some((error) => error.startsWith("color-contrast")));
    assert.ok(found.length > 1, "more than a colour is looked at");
    await context.close();
  });

  test("are refused to strangers, who come back after the login", async () => {
    const context = await openStrangeWindow(browser);
    const page = await context.newPage();
    await page.goto(`${service.url}/ui/webhooks/hello?x=1`);
    const { pathname, searchParams } = new URL(page.url());
    assert.equal(pathname, "/ui/login");
    assert.equal(searchParams.get("next"), "/ui/webhooks/hello?x=1");
    await context.close();
  });
});

/** Runs with a page of its own; an error of a script or of the policy fails it. */
async function withPage(
  context: BrowserContext,
  name: string,
  act: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, errors } = await openPage(context);
  await act(page);
  const unexpected = errors.filter((error) => name !== "missing" || !error.includes("404"));
  assert.deepEqual(unexpected, []);
  await page.close();
}

/** Nothing makes the whole page scroll sideways, and no list hides a column. */
async function assertFits(page: Page, name: string): Promise<void> {
  const root = page.locator("html");
  // A chart is drawn again once the window has its new size.
  await poll(`"${name}" to fit into its window`, async () => {
    const [whole, shown] = await root.evaluate((html) => [html.scrollWidth, html.clientWidth]);
    return Number(whole) <= Number(shown) || null;
  });
  const strips = await page
    .locator(".tabs")
    .evaluateAll((found) => found.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  assert.ok(
    strips.every((hidden) => hidden <= 0),
    `"${name}" hides tabs: ${strips.join(", ")}`,
  );
  const lists = await page
    .locator("main .scroll:visible")
    .evaluateAll((found) => found.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth));
  assert.ok(
    lists.every((hidden) => hidden <= 0),
    `"${name}" hides columns: ${lists.join(", ")}`,
  );
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

async function violationsOf(page: Page, rules: string[] = []): Promise<string[]> {
  if (!(await page.evaluate(`"axe" in window`))) await page.evaluate(axe.source);
  const options: RunOptions = {
    runOnly: rules.length > 0 ? { type: "rule", values: rules } : { type: "tag", values: TAGS },
    // What passes is most of the answer, and nobody reads it.
    resultTypes: ["violations"],
  };
  const act = `axe.run(document, ${JSON.stringify(options)})`;
  const { violations } = await page.evaluate<AxeResults>(act);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
}

/** Over how many lines the first of this word in a table is broken. */
function linesOf(word: string): string {
  return `(() => {
    const table = document.querySelector(".list table");
    const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const at = texts.currentNode.data.indexOf("${word}");
      if (at === -1) continue;
      const range = document.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + ${word.length});
      return new Set([...range.getClientRects()].map(({ top }) => top)).size;
    }
    return 0;
  })()`;
}
