import { globSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { startService, type Service } from "../test/blackbox/service.ts";
import { openPage, openWindow, visit } from "../test/ui/browser.ts";
import { ROOT } from "./targets.ts";

/** The picture of README.md: an example that is tried, with the redirects of its call. */
const FILE = join(ROOT, "src/assets/docs/try-it.png");

/** `npm run screenshots -- --picture` */
export async function takePicture(browser: Browser): Promise<void> {
  const service = await startService({ plugins: globSync(join(ROOT, "plugins/*.ts")) });
  try {
    await service.createWebhook("hello", "hello");
    await service.api("PATCH", "/webhook/hello", { description: "Greets whoever calls" });
    await shoot(browser, service);
  } finally {
    await service.stop();
  }
}

async function shoot(browser: Browser, service: Service): Promise<void> {
  const context = await openWindow(browser, service, { locale: "en-GB", timezoneId: "UTC" });
  const { page } = await openPage(context);
  await page.setViewportSize({ width: 1280, height: 800 });
  await visit(page, service, "/ui/webhooks/hello#try");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator("#try .json").waitFor();
  await page.screenshot({ path: FILE });
  await context.close();
}
