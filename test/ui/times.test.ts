import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import Database from "better-sqlite3";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Service } from "../blackbox/service.ts";
import { noBrowser, openBrowser, openPage, openWindow, visit } from "./browser.ts";
import { pagesOf } from "./pages.ts";
import { call, openWorkshop } from "./workshop.ts";

/** What a page shows of a moment. */
interface Shown {
  readonly text: string;
  readonly iso: string;
  readonly title: string;
}

/** How long ago something was, in a list. */
const AGO = /^(?:just now|(\d+) (s|min|h) ago)$/;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };

const DAY_MS = 24 * 60 * 60 * 1000;

describe("7: times in the browser", { skip: noBrowser }, () => {
  let service: Service;
  let browser: Browser;
  let failed: string;
  before(async () => {
    service = await openWorkshop();
    browser = await openBrowser();
    await call(service, "failing", {});
    failed = await newest(service, "failing");
    // One of another day, of another year and from the other half of it.
    const db = new Database(join(service.directory, "data/flowhook.db"));
    const ids = db
      .prepare("select id from execution where webhook = 'hello' limit 3")
      .pluck()
      .all();
    for (const [count, id] of ids.entries())
      db.prepare("update execution set created_at = created_at - ? where id = ?").run(
        [DAY_MS, 400 * DAY_MS, 180 * DAY_MS][count],
        id,
      );
    db.close();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  async function timesOf(page: Page, path: string): Promise<Shown[]> {
    await visit(page, service, path);
    return page.locator("time").evaluateAll((elements) =>
      elements.map((element) => ({
        text: element.textContent ?? "",
        iso: element.getAttribute("datetime") ?? "",
        title: element.getAttribute("title") ?? "",
      })),
    );
  }

  const zones: Readonly<Record<string, { locale: string; zone: RegExp }>> = {
    "America/New_York": { locale: "en-US", zone: /^GMT-[45]$/ },
    "Asia/Kolkata": { locale: "hi-IN", zone: /^GMT\+5:30$/ },
    "Pacific/Kiritimati": { locale: "de-DE", zone: /^GMT\+14$/ },
    UTC: { locale: "ar-EG", zone: /^GMT(\+0)?$/ },
  };
  /** Pages that showed times in the first zone: the others have none in any. */
  const paths = new Set<string>();
  for (const [timezoneId, { locale, zone }] of Object.entries(zones))
    test(`7: in ${timezoneId} every page shows its zone, 24 hours and the date`, async () => {
      const context = await openWindow(browser, service, { timezoneId, locale });
      const { page, errors } = await openPage(context);
      let count = 0;
      for (const path of paths.size > 0 ? paths : Object.values(await pagesOf(service)))
        for (const shown of await timesOf(page, path)) {
          assertShown(shown, { timezoneId, zone, path });
          paths.add(path);
          count += 1;
        }
      assert.ok(count > 50, `${count} times`);
      assert.deepEqual(
        errors.filter((error) => !/404/.test(error)),
        [],
      );
      await context.close();
    });

  test("7: the log, the steps and the list of one execution tell one time", async () => {
    const look = { timezoneId: "America/New_York", locale: "en-US" };
    const context = await openWindow(browser, service, look);
    const { page } = await openPage(context);
    const times = await timesOf(page, `/ui/executions/${failed}`);
    const log = await page.locator("#log time").allInnerTexts();
    const steps = await page.locator("#steps time").allInnerTexts();
    assert.equal(log.length, 2);
    assert.equal(steps.length, 3);
    assert.equal(times.length, 5);
    for (const text of [...log, ...steps]) assert.match(text, /^\d\d:\d\d:\d\d\.\d{3} GMT-[45]$/);
    const hours = new Set([...log, ...steps].map((text) => text.slice(0, 2)));
    assert.ok(hours.size <= 2, [...hours].join(" "));
    const whole = await page.locator("body").innerText();
    assert.doesNotMatch(whole, /\d [AP]M\b/);
    await visit(page, service, "/ui/executions?webhook=failing");
    const row = await page.locator(`tr[data-id="${failed}"] time`).innerText();
    assert.match(row, AGO);
    await context.close();
  });

  test("7: are those of the service where the browser's clock is wrong", async () => {
    const window = await openWindow(browser, service);
    for (const aheadMs of [3_600_000, -7_200_000]) {
      const { page } = await openPage(window);
      await page.clock.install({ time: new Date(new Date().getTime() + aheadMs) });
      await visit(page, service, "/ui/");
      const when = page.locator("#failures time").first();
      assert.match(await when.innerText(), /^(?:just now|\d+ s ago|\d min ago)$/);
      assert.doesNotMatch(await page.locator(".tiles").innerText(), /Calls\s+0\s/);
      await page.close();
    }
    await window.close();
  });

  test("7: charts tell 24 hours too, and cut no label", async () => {
    const db = new Database(join(service.directory, "data/flowhook.db"));
    db.prepare("update execution set ended_at = started_at + 140000 where id = ?").run(failed);
    db.close();
    const look = { timezoneId: "America/New_York", locale: "en-US" };
    const context = await openWindow(browser, service, look);
    await context.addInitScript(NOTE_LABELS);
    const { page } = await openPage(context);
    await visit(page, service, "/ui/");
    await page.locator(".plot canvas").nth(1).waitFor();
    await page.waitForFunction("labels.some(({ text }) => text.includes('min'))");
    const labels = await page.evaluate<{ text: string; left: number }[]>("labels");
    for (const { text, left } of labels) assert.ok(left >= 0, `"${text}" begins at ${left}`);
    const clocks = labels.filter(({ text }) => text.includes(":"));
    assert.ok(clocks.length > 2);
    for (const { text } of clocks) assert.match(text, /^\d\d:\d\d$/);
    await context.close();
  });
});

/** Notes what is drawn, and where it begins. */
const NOTE_LABELS = `
  globalThis.labels = [];
  const draw = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, ...others) {
    const width = this.measureText(text).width;
    labels.push({ text, left: this.textAlign === "right" ? x - width : x });
    return draw.call(this, text, x, ...others);
  };
`;

/** The zone's own time of day, as another implementation of the calendar knows it. */
function assertShown(
  { text, iso, title }: Shown,
  { timezoneId, zone, path }: { timezoneId: string; zone: RegExp; path: string },
): void {
  const where = `${path}: "${text}" for ${iso}`;
  if (AGO.test(text)) return assertAgo(text, { iso, title, where });
  const [, day, clock = "", ms, shown_zone = ""] =
    /^(?:(.+), )?(\d\d:\d\d:\d\d)(\.\d{3})? (GMT\S*)$/.exec(text) ?? [];
  assert.match(shown_zone, zone, where);
  const at = new Date(iso);
  assert.equal(clock, partOf(at, timezoneId, { timeStyle: "medium" }), where);
  if (ms !== undefined) assert.equal(ms, iso.slice(-5, -1), where);
  const date = (moment: Date) => partOf(moment, timezoneId, { dateStyle: "short" });
  const isLog = ms !== undefined && day === undefined;
  if (!isLog) assert.equal(day === undefined, date(at) === date(new Date()), where);
  const year = partOf(at, timezoneId, { year: "numeric" });
  assert.ok(title.includes(iso) && title.includes(`${clock}.`), `${where}: ${title}`);
  assert.ok(title.includes(shown_zone), `${where}: ${title}`);
  assert.match(toLatin(title), new RegExp(year), `${where}: ${title}`);
}

/** The time is in the title, and what has passed is right to a minute, as the test takes time. */
function assertAgo(text: string, told: { iso: string; title: string; where: string }): void {
  const { iso, title, where } = told;
  const [, count = "0", unit = "s"] = AGO.exec(text) ?? [];
  const passed = Number(count) * (UNIT_MS[unit] ?? 0);
  const off = Date.now() - Date.parse(iso) - passed;
  assert.ok(off >= 0 && off < (UNIT_MS[unit] ?? 0) + 60_000, where);
  assert.ok(title.includes(iso) && /\d\d:\d\d:\d\d\.\d{3} GMT/.test(title), `${where}: ${title}`);
}

function partOf(at: Date, timeZone: string, options: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat("en-GB", { ...options, timeZone }).format(at);
}

/** Digits of other scripts, as some languages write dates. */
function toLatin(text: string): string {
  return text.replace(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660));
}

async function newest(service: Service, webhook: string): Promise<string> {
  const { body } = await service.api("GET", `/execution?webhook=${webhook}&limit=1`);
  return (body as { items: { id: string }[] }).items[0]?.id ?? "";
}
