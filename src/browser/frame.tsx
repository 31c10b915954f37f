import { watchActivity } from "./activity.ts";
import { ApiError, call } from "./api.ts";
import { need } from "./append.ts";
import { watchConnection } from "./connection.ts";
import { confirm } from "./dialog.tsx";
import { onKeys } from "./keys.ts";
import { goTo } from "./leaving.ts";
import { complain } from "./notice.tsx";
import { apiPath, pagePath, PREFIX } from "./page.ts";
import { watchSession } from "./session.tsx";
import { showShortcuts } from "./shortcuts.tsx";
import { giveUpUnsaved, hasUnsaved, watchUnsaved } from "./unsaved.ts";

/** What the frame around every page does: navigation, theme, sign out, activity. */
export function openFrame(): void {
  watchActivity();
  addEventListener("unhandledrejection", complainOfStray);
  watchSession();
  watchConnection();
  watchUnsaved();
  need("sign-out").addEventListener("click", () => {
    askToSignOut().catch(complain);
  });
  need("theme").addEventListener("click", turnTheme);
  need("shortcuts").addEventListener("click", showShortcuts);
  onKeys({ "?": showShortcuts });
  const menu = need("menu-button");
  menu.addEventListener("click", () => {
    const isOpen = menu.getAttribute("aria-expanded") === "true";
    menu.setAttribute("aria-expanded", String(!isOpen));
  });
}

/** The last net: what an act threw that nobody caught is shown all the same. */
function complainOfStray({ reason }: PromiseRejectionEvent): void {
  complain(reason);
}

/** Before anything is done: signed out, nobody can go back to what is not saved. */
async function askToSignOut(): Promise<void> {
  if (!hasUnsaved()) return signOut();
  await confirm("Sign out?", "What is not saved on this page is lost.", "Sign out", signOut);
}

/** A session that has ended already is what was asked for. */
async function signOut(): Promise<void> {
  try {
    await call("POST", ["auth", "logout"]);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error;
  }
  giveUpUnsaved();
  await goTo(pagePath("login"));
}

/** Cookies, so that the server already sends the page in the right theme; calls carry none. */
function turnTheme(): void {
  const root = document.documentElement;
  const isDark =
    root.dataset["theme"] === "dark" ||
    (root.dataset["theme"] === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
  const theme = isDark ? "light" : "dark";
  root.dataset["theme"] = theme;
  for (const path of [`${PREFIX}/ui`, apiPath("reference")])
    document.cookie = `flowhook-theme=${theme}; path=${path}; max-age=31536000; samesite=lax`;
  dispatchEvent(new Event("themechange"));
}
