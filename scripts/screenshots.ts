import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Browser } from "playwright-core";
import type { Service } from "../test/blackbox/service.ts";
import {
  noBrowser,
  openBrowser,
  openPage,
  openStrangeWindow,
  openWindow,
  visit,
} from "../test/ui/browser.ts";
import { pagesOf } from "../test/ui/pages.ts";
import { openWorkshop } from "../test/ui/workshop.ts";
import { takePicture } from "./picture.ts";
import { ROOT } from "./targets.ts";

/**
 * `npm run screenshots [-- NAME ...]`: build/screenshots/<page>-<wide|narrow>-<light|dark>.png;
 * `npm run screenshots -- --picture`: the one of README.md.
 */

const FOLDER = join(ROOT, "build/screenshots");

const LOOKS = [false, true].flatMap((isNarrow) =>
  [false, true].map((isDark) => ({ isNarrow, isDark })),
);

async function main(wanted: readonly string[], isPicture: boolean): Promise<void> {
  if (noBrowser !== false) throw new Error(`Cannot make screenshots: ${noBrowser}`);
  await using browser = await openBrowser();
  if (isPicture) await takePicture(browser);
  else await shootPages(browser, wanted);
}

async function shootPages(browser: Browser, wanted: readonly string[]): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  const service = await openWorkshop();
  try {
    const pages = Object.entries(await pagesOf(service));
    const known = ["login", ...pages.map(([name]) => name)];
    const unknown = wanted.filter((name) => !known.includes(name));
    if (unknown.length > 0)
      throw new Error(`Unknown: ${unknown.join(", ")}. Known: ${known.join(", ")}`);
    const chosen = pages.filter(([name]) => wanted.length === 0 || wanted.includes(name));
    for (const look of LOOKS) await shootAll(browser, service, look, chosen);
  } finally {
    await service.stop();
  }
}

async function shootAll(
  browser: Browser,
  service: Service,
  look: (typeof LOOKS)[number],
  pages: readonly (readonly [string, string])[],
): Promise<void> {
  const ending = `${look.isNarrow ? "narrow" : "wide"}-${look.isDark ? "dark" : "light"}.png`;
  const door = await openStrangeWindow(browser, look);
  const { page: login } = await openPage(door);
  await login.goto(`${service.url}/ui/login`);
  await login.screenshot({ path: join(FOLDER, `login-${ending}`) });
  await door.close();
  const context = await openWindow(browser, service, look);
  for (const [name, path] of pages) {
    const { page, errors } = await openPage(context);
    await visit(page, service, path);
    await page.screenshot({ path: join(FOLDER, `${name}-${ending}`), fullPage: true });
    for (const error of errors) console.error(`${name}: ${error}`);
    await page.close();
  }
  await context.close();
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { picture: { type: "boolean", default: false } },
});
await main(positionals, values.picture);
