import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import type { Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, settled, visit } from "./browser.ts";
import { call, openWorkshop } from "./workshop.ts";

/** Looks like "paid 1,000" where its controls act. */
const TURNED = "paid \u202e000,1\u202c\u200b EUR";
const CODES = ["U+202E", "U+202C", "U+200B"];

describe("what a caller's text would hide is seen", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  let errors: string[];
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    const context = await openWindow(browser, service);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    ({ page, errors } = await openPage(context));
    const steps = [{ log: TURNED }, { status_message: TURNED }];
    await call(service, "answer", { steps, output: { [TURNED]: TURNED } });
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const codesIn = (place: Locator) =>
    place.locator(".unseen").evaluateAll((marks) => marks.map((mark) => mark.dataset["code"]));

  test("in the list, in the message, in the log and in values", async () => {
    await visit(page, service, "/ui/executions?webhook=answer");
    const row = page.locator("tbody tr").first();
    assert.deepEqual(await codesIn(row.locator(".said")), CODES);
    await row.locator("th a").click();
    await page.waitForURL(/\/ui\/executions\/./);
    await settled(page);
    for (const place of [".message", "#log .text", "#output .json-name", "#output .json-string"])
      assert.deepEqual(await codesIn(page.locator(place).last()), CODES, place);
    assert.equal(await page.locator(".message").textContent(), TURNED, "the text itself stays");
    const mark = "getComputedStyle(document.querySelector('.message .unseen'), '::before')";
    const shown = await page.evaluate<string>(`${mark}.content`);
    assert.match(shown, /U\+202E|attr\(data-code\)/);
  });

  test("and is copied as it is", async () => {
    await page.locator("#output").getByRole("button", { name: "Copy" }).click();
    await page.locator("#notices", { hasText: "Copied" }).waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    assert.deepEqual(JSON.parse(copied), { [TURNED]: TURNED });
    await page.getByRole("button", { name: "Replay with changes" }).click();
    const dialog = page.getByRole("dialog");
    const typed = await dialog.getByLabel("Input").inputValue();
    assert.ok(typed.includes(String.raw`paid \u202e000,1\u202c\u200b EUR`), typed);
    await dialog.getByRole("button", { name: "Replay" }).click();
    await page.getByText("Replay of").waitFor();
    await page.locator("#output .json-string").last().waitFor();
    assert.equal(
      await page.locator("#output .json-string").last().textContent(),
      JSON.stringify(TURNED),
    );
    assert.deepEqual(errors, []);
  });

  test("words begin where their letters do, code at the left", async () => {
    const words = "שלום";
    await call(service, "answer", {
      steps: [{ status_message: words }],
      output: { [words]: words },
    });
    await visit(page, service, "/ui/executions?webhook=answer");
    await page.locator("tbody tr th a").first().click();
    await page.locator("#output .json-string").last().waitFor();
    const directionOf = (place: string) =>
      page
        .locator(`${place} bdi`)
        .last()
        .evaluate((text) => (text.matches(":dir(rtl)") ? "rtl" : "ltr"));
    assert.equal(await directionOf(".message"), "rtl");
    assert.equal(await directionOf("#output .json-name"), "ltr");
    assert.equal(await directionOf("#output .json-string"), "ltr");
  });

  test("with so many marks as a page can bear, and no fewer characters", async () => {
    const alternating = "\u200b\u200c".repeat(50_000);
    await call(service, "answer", { output: ["\u200b".repeat(100_000), alternating] });
    await visit(page, service, "/ui/executions?webhook=answer");
    await page.locator("tbody tr th a").first().click();
    const texts = page.locator("#output .json-string");
    await texts.last().waitFor();
    assert.deepEqual(await codesIn(texts.first()), ["U+200B ×100000"]);
    const codes = await codesIn(texts.last());
    assert.equal(codes.length, 501);
    assert.equal(codes.at(-1), "more, not marked from here on");
    assert.equal(await texts.last().textContent(), JSON.stringify(alternating));
    assert.deepEqual(errors, []);
  });
});
