import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { ADMIN_PASSWORD, type Service } from "../blackbox/service.ts";
import { findProgram } from "../blackbox/target.ts";

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const program = findProgram("chromium");

/** Why no page can be walked on this machine, or false. Printed with each skip. */
export const noBrowser: string | false = program === null ? "no chromium on this machine" : false;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: program ?? "", args: ARGUMENTS });
}

export interface Look {
  readonly isNarrow?: boolean;
  readonly isDark?: boolean;
  /** IANA name of the visitor's time zone, and the language; the machine's unless told. */
  readonly timezoneId?: string;
  readonly locale?: string;
}

/** A browser window of its own, with the administrator logged in. */
export async function openWindow(
  browser: Browser,
  service: Service,
  look: Look = {},
): Promise<BrowserContext> {
  const context = await openStrangeWindow(browser, look);
  await context.addCookies([
    { name: "service-token", value: service.token(), url: service.url, httpOnly: true },
  ]);
  return context;
}

/** A window where nobody has logged in. */
export function openStrangeWindow(browser: Browser, look: Look = {}): Promise<BrowserContext> {
  const viewport =
    look.isNarrow === true ? { width: 390, height: 844 } : { width: 1440, height: 900 };
  const colorScheme = look.isDark === true ? "dark" : "light";
  const { timezoneId, locale } = look;
  return browser.newContext({
    viewport,
    colorScheme,
    reducedMotion: "reduce",
    ...(timezoneId === undefined ? {} : { timezoneId }),
    ...(locale === undefined ? {} : { locale }),
  });
}

/** A page that notes each error of its scripts and each violation of its policy. */
export async function openPage(context: BrowserContext): Promise<{ page: Page; errors: string[] }> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  return { page, errors };
}

/** Goes to a page and waits until it has read what it shows. */
export async function visit(page: Page, service: Service, path: string): Promise<void> {
  await page.goto(`${service.url}${path}`);
  await settled(page);
}

/** The pages keep a stream open, so that the network is never silent: the last answer counts. */
export async function settled(page: Page): Promise<void> {
  await page.waitForSelector('html[data-shown="true"]', { state: "attached" });
}

export async function logIn(page: Page, name = "admin", password = ADMIN_PASSWORD): Promise<void> {
  await page.fill('input[name="user_name"]', name);
  await page.fill('input[name="password"]', password);
  await page.press('input[name="password"]', "Enter");
}
