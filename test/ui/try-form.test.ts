import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import type { Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("a call by the fields of its flow", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  let errors: string[];
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    ({ page, errors } = await openPage(await openWindow(browser, service)));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  const label = (text: string) => page.getByLabel(text, { exact: true });
  const fault = (name: string) => page.locator(`[data-fault-of="json.${name}"]`);

  async function send(): Promise<string | null> {
    const called = page.waitForRequest(
      (request) => request.method() === "POST" && request.url().endsWith("/typed/call"),
    );
    await page.getByRole("button", { name: "Send" }).click();
    return (await called).postData();
  }

  test("has a field for each, and says at the field what is wrong", async () => {
    await visit(page, service, "/ui/webhooks/typed#try");
    const fields = page.locator("#input-fields");
    assert.deepEqual(await fields.locator("label").allInnerTexts(), [
      "item",
      "count",
      "note (optional)",
      "is_gift (optional)",
      "address (optional)",
    ]);
    assert.ok(await fields.getByText("How many are ordered").isVisible());
    assert.equal(await page.getByLabel("Content of the body").isVisible(), false);
    await page.getByRole("button", { name: "Send" }).click();
    await fault("count").getByText("This is needed").waitFor();
    await label("count").fill("many");
    await page.getByRole("button", { name: "Send" }).click();
    await fault("count").getByText("Expected a number").waitFor();
    await label("count").fill("2");
    await label("address (optional)").fill("{ city");
    await page.getByRole("button", { name: "Send" }).click();
    await fault("address").getByText("This is not JSON").waitFor();
  });

  test("sends what was filled in, each with its type", async () => {
    await visit(page, service, "/ui/webhooks/typed#try");
    await label("item").selectOption("chair");
    await label("count").fill("2");
    await label("is_gift (optional)").selectOption("false");
    await label("address (optional)").fill('{ "city": "Bern" }');
    const order = { item: "chair", count: 2, is_gift: false, address: { city: "Bern" } };
    assert.deepEqual(JSON.parse((await send()) ?? ""), order);
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    assert.match(await page.locator(".legs").innerText(), /Final leg\s+200/);
    assert.match(await page.locator("#try .json").innerText(), /"chair"\s*count2\s*is_giftfalse/);
  });

  test("takes any JSON as text instead", async () => {
    await visit(page, service, "/ui/webhooks/typed#try");
    await label("Body").selectOption("application/json");
    assert.equal(await page.locator("#input-fields").isVisible(), false);
    const text = page.getByLabel("Content of the body");
    assert.match(await text.inputValue(), /"item": "lamp",\s+"count": 1/, "a text to change");
    await text.fill('{ "item": "stool" }');
    assert.equal(await send(), '{ "item": "stool" }');
    await page.getByRole("link", { name: "Open its execution" }).waitFor();
    assert.match(await page.locator(".legs").innerText(), /Final leg\s+500/);
    // The browser's console has the 500.
    errors.length = 0;
  });

  test("is written for a terminal with a body that the flow takes", async () => {
    await visit(page, service, "/ui/webhooks/typed");
    const line = await page.locator("[role=tabpanel] pre").first().innerText();
    const [, body = ""] = /-d '(.*)'$/.exec(line) ?? [];
    assert.equal(body, '{"item":"lamp","count":1}');
    const response = await fetch(`${service.url}/api/latest/webhook/typed/call`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    assert.equal(response.status, 200);
    await visit(page, service, "/ui/webhooks/hello");
    assert.match(await page.locator("[role=tabpanel] pre").first().innerText(), /"name":"Ada"/);
  });

  test("is not sent where a browser would send something else", async () => {
    await visit(page, service, "/ui/webhooks/hello#try");
    const called: string[] = [];
    page.on("request", (request) => called.push(new URL(request.url()).pathname));
    const send = () => page.getByRole("button", { name: "Send" }).click();
    const faultOf = (name: string) => page.locator(`[data-fault-of="${name}"]`);
    await label("Headers").fill("X-Own: 1\nDate: today\nCookie: a=b");
    await send();
    await faultOf("headers").getByText("A page cannot send cookie, date").waitFor();
    await label("Headers").fill("X-Own: 1");
    for (const path of ["../other/call", "a/%2E./b", "."]) {
      await label("Sub-path after /call/").fill(path);
      await send();
      await faultOf("sub_path").getByText("the call would go elsewhere").waitFor();
    }
    assert.deepEqual(
      called.filter((path) => path.includes("/call")),
      [],
    );
    await label("Sub-path after /call/").fill("/");
    await send();
    await page.locator(".legs").waitFor();
    assert.equal(
      called.find((path) => path.includes("/call")),
      "/api/latest/webhook/hello/call/",
    );
  });

  test("asks for no fields where a call has no body", async () => {
    await visit(page, service, "/ui/webhooks/typed#try");
    await label("Method").selectOption("GET");
    await page.locator("#input-fields").waitFor({ state: "hidden" });
    assert.deepEqual(errors, []);
  });
});
