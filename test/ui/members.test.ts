import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { openWorkshop } from "./workshop.ts";

describe("members of a webhook in the browser", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let page: Page;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    ({ page } = await openPage(await openWindow(browser, service)));
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function member(webhook: string, name: string): Promise<unknown> {
    const { body } = await service.api("GET", `/webhook/${webhook}`);
    return (body as Record<string, unknown>)[name];
  }

  async function fill(fields: Record<string, string>): Promise<void> {
    for (const [label, text] of Object.entries(fields))
      await page.getByLabel(label, { exact: true }).fill(text);
  }

  const choose = (label: string, value: string) =>
    page.getByLabel(label, { exact: true }).selectOption(value);

  async function save(): Promise<void> {
    const answer = page.waitForResponse((response) => response.request().method() === "PATCH");
    await page.getByRole("button", { name: "Save" }).click();
    assert.equal((await answer).status(), 200);
    await page.locator("form button[type=submit]:visible:enabled").waitFor();
  }

  /** What is shown is then the webhook as it is now. */
  async function disable(): Promise<void> {
    await page.getByRole("tab", { name: "Access" }).click();
    await page.getByRole("button", { name: "Disable", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Your password").fill(ADMIN_PASSWORD);
    await dialog.getByRole("button", { name: "Disable", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
  }

  test("limit rate and concurrency, and say at the field what is wrong", async () => {
    await visit(page, service, "/ui/webhooks/hello#limits");
    await choose("Counted are", "address");
    await fill({ "Number of calls": "0", "in so many seconds": "60", Methods: "post, GET" });
    await fill({ "Executions that run at the same time": "2", "Calls that wait": "many" });
    await choose("A call when as many run", "refuse");
    await page.getByRole("button", { name: "Save" }).click();
    const fault = (name: string) => page.locator(`[data-fault-of="${name}"]`);
    await fault("limits.max_queued").getByText("Expected a number").waitFor();
    await fill({ "Calls that wait": "" });
    await page.getByRole("button", { name: "Save" }).click();
    await fault("limits.rate.calls").getByText("Expected at least 1").waitFor();
    assert.equal(await page.getByLabel("in so many seconds").inputValue(), "60", "typed stays");
    await fill({ "Number of calls": "30" });
    await save();
    assert.deepEqual(await member("hello", "limits"), {
      rate: { calls: 30, per_sec: 60, burst: 30, by: "address" },
      max_concurrent: 2,
      when_busy: "refuse",
      max_queued: null,
    });
    assert.deepEqual(await member("hello", "methods"), ["POST", "GET"]);
    assert.equal(await page.getByLabel("At once").inputValue(), "30", "what was left out");
    const sent = page.waitForRequest((request) => request.method() === "PATCH");
    await fill({ Methods: "POST" });
    await save();
    assert.deepEqual((await sent).postDataJSON(), { methods: ["POST"] }, "what was changed alone");

    await visit(page, service, "/ui/webhooks/hello#limits");
    await choose("Counted are", "");
    await choose("A call when as many run", "queue");
    await fill({ "Executions that run at the same time": "" });
    await save();
    assert.equal(await member("hello", "limits"), null, "all of it is the default again");
  });

  test("admit pages of other origins, and add headers", async () => {
    await visit(page, service, "/ui/webhooks/hello#answers");
    await fill({ "Headers of answers": "x-frame-options: DENY\ncache-control" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText('"cache-control" is no header').waitFor();
    await fill({ "Headers of answers": "x-frame-options: DENY\ncache-control: no-store" });
    const check = "A call that does not fit the input schema of its flow";
    await choose(check, "refuse");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator('[data-fault-of="input_check"]', { hasText: "schema" }).waitFor();
    await choose(check, "run");
    await choose("Pages that may read answers (CORS)", "listed");
    await fill({ Origins: "https://a.example.com\nhttps://b.example.com/path" });
    await page.getByLabel("With the login of their visitor").check();
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator('[data-fault-of="cors.origins"]', { hasText: "an origin" }).waitFor();
    await fill({ Origins: "https://a.example.com\nhttps://b.example.com" });
    await save();
    const cors = (await member("hello", "cors")) as Record<string, unknown>;
    assert.deepEqual(cors["origins"], ["https://a.example.com", "https://b.example.com"]);
    assert.deepEqual([cors["credentials"], cors["max_age_sec"]], [true, 600]);
    assert.deepEqual(await member("hello", "response_headers"), {
      "x-frame-options": "DENY",
      "cache-control": "no-store",
    });

    await fill({ "Headers that they may send": "-" });
    await save();
    const headers = async () => ((await member("hello", "cors")) as { headers: unknown }).headers;
    assert.deepEqual(await headers(), []);
    await visit(page, service, "/ui/webhooks/hello#answers");
    await fill({ "Seconds for which browsers keep that": "60" });
    await save();
    assert.deepEqual(await headers(), [], "no header stays no header");
  });

  test("tell calls apart that are sent again", async () => {
    await visit(page, service, "/ui/webhooks/hello#delivery");
    await choose("How calls are told apart", "json");
    await fill({ "JSON pointer": "event" });
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator('[data-fault-of="idempotency.from"]', { hasText: "xpected" }).waitFor();
    await fill({ "JSON pointer": "/event/id", "Seconds for which a key is known": "3600" });
    await page.getByLabel("A call without a key is refused").check();
    await save();
    assert.deepEqual(await member("hello", "idempotency"), {
      from: "json:/event/id",
      window_sec: 3600,
      required: true,
      compare: true,
      after_failure: "run_again",
    });
    await visit(page, service, "/ui/webhooks/hello#delivery");
    assert.equal(await page.getByLabel("JSON pointer").inputValue(), "/event/id");
    await choose("How calls are told apart", "");
    await save();
    assert.equal(await member("hello", "idempotency"), null);
  });

  test("stay as somebody else has set them, where another one is saved", async () => {
    await service.createWebhook("shared", "hello");
    await visit(page, service, "/ui/webhooks/shared#limits");
    for (const tab of ["Bodies and answers", "Delivery", "Access"])
      await page.getByRole("tab", { name: tab }).click();
    const theirs = {
      limits: { rate: { calls: 5, per_sec: 60, by: "webhook" } },
      cors: { origins: ["https://a.example.com"] },
      idempotency: { from: "header:x-id" },
    };
    await service.api("PATCH", "/webhook/shared", theirs);
    await disable();
    for (const [tab, fields] of [
      ["Limits", { "Largest body in bytes": "1000" }],
      ["Bodies and answers", { "Headers of answers": "x-frame-options: DENY" }],
      ["Delivery", { "Seconds for which a key is known": "3600" }],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await fill(fields);
      await save();
    }
    assert.partialDeepStrictEqual((await service.api("GET", "/webhook/shared")).body, {
      ...theirs,
      max_body_bytes: 1000,
      idempotency: { from: "header:x-id", window_sec: 3600 },
    });
  });

  test("describe a signature that no scheme of the list has", async () => {
    const sender = { name: "SENDER", value: "a secret of the sender" };
    await service.api("POST", "/secret", sender);
    const dialog = page.getByRole("dialog");
    await visit(page, service, "/ui/webhooks/hello#access");
    await page.getByRole("button", { name: "Require signatures" }).click();
    await choose("Who signs", "custom");
    const secret = dialog.getByRole("group", { name: "Secrets" }).getByLabel("SENDER");
    await secret.waitFor();
    await fill({ Header: "x-signature", "Before the signature": "sha256=" });
    await fill({ "What is signed": "{timestamp}\n{body}" });
    await choose("Time of the call", "header");
    await fill({ "Header of the time": "x-time", "Your password": ADMIN_PASSWORD });
    const send = dialog.getByRole("button", { name: "Require signatures" });
    await send.click();
    const fault = dialog.locator('[data-fault-of="signature.secrets"]');
    await fault.getByText("Choose at least one").waitFor();
    await secret.check();
    await fault.and(page.locator(":empty")).waitFor({ state: "attached" });
    await service.api("DELETE", "/secret/SENDER");
    await send.click();
    await fault.getByText('There is no secret "SENDER"', { exact: true }).waitFor();
    await service.api("POST", "/secret", sender);
    await send.click();
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Calls are signed: Another one, with SENDER").waitFor();
    const signature = (await member("hello", "signature")) as Record<string, unknown>;
    const custom = signature["custom"] as Record<string, unknown>;
    assert.equal(signature["scheme"], "custom");
    assert.deepEqual(custom["timestamp"], { header: "x-time", unit: "s" });
    assert.equal(custom["message"], "{timestamp}\n{body}");
    await page.getByRole("button", { name: "Change the signature" }).click();
    assert.equal(await dialog.getByLabel("Header of the time").inputValue(), "x-time");
    await dialog.getByLabel("Header", { exact: true }).fill("not a header");
    await fill({ "Your password": ADMIN_PASSWORD });
    await dialog.getByRole("button", { name: "Change the signature" }).click();
    await dialog
      .locator('[data-fault-of="signature.custom.header"]', { hasText: "name" })
      .waitFor();
    await page.keyboard.press("Escape");
  });

  test("show the calls that were refused, and why", async () => {
    await visit(page, service, "/ui/webhooks/slow#refused");
    await page.getByRole("heading", { name: "No call was refused" }).waitFor();
    await visit(page, service, "/ui/webhooks/notification#refused");
    const row = page.locator("#refused tbody tr");
    assert.match(await row.innerText(), /401[^]*POST[^]*notification[^]*127\.0\.0\.1/);
  });

  test("show calls that come while their tabs are open, or were", async () => {
    const key = "a-key-of-the-watched";
    const url = `${service.url}/api/latest/webhook/watched/call`;
    const send = (headers: Record<string, string>) => fetch(url, { method: "POST", headers });
    await service.createWebhook("watched", "hello", { key });
    await visit(page, service, "/ui/webhooks/watched#refused");
    await page.getByRole("heading", { name: "No call was refused" }).waitFor();
    await send({});
    const refused = page.locator("#refused tbody tr");
    await refused.first().waitFor();
    await page.getByRole("tab", { name: "Calls" }).click();
    await page.getByText("It was not called yet").waitFor();
    await send({ authorization: `Bearer ${key}` });
    await page.getByRole("region", { name: "Executions" }).waitFor();
    await page.locator("#calls h3", { hasText: "1 call, 0 failed" }).waitFor();
    await send({});
    await page.getByRole("tab", { name: "Refused" }).click();
    await refused.nth(1).waitFor();
  });

  test("break the long words of callers, in the audit too", async () => {
    const word = "W".repeat(256);
    const url = `${service.url}/api/latest/webhook/${word}`;
    assert.equal((await fetch(url, { method: "DELETE" })).status, 401);
    const path = `/api/latest/webhook/notification/call/${word.repeat(3)}`;
    assert.equal((await fetch(service.url + path, { method: "POST" })).status, 401);
    await page.setViewportSize({ width: 1280, height: 900 });
    await visit(page, service, "/ui/admin/audit");
    await assertFits(page.getByRole("region", { name: "Audit" }), word);
    await visit(page, service, "/ui/webhooks/notification#refused");
    await assertFits(page.getByRole("region", { name: "Refused calls" }), word);
  });
});

/** A table is not wider than its frame, and has what would make it so. */
async function assertFits(frame: Locator, word: string): Promise<void> {
  await frame.getByText(word).filter({ visible: true }).first().waitFor();
  const [whole, shown] = await frame.evaluate((own) => [own.scrollWidth, own.clientWidth]);
  assert.ok(Number(whole) <= Number(shown), `${whole} wide in ${shown}`);
}
