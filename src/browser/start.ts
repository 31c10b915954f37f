import { watchActivity } from "./activity.ts";
import { ApiError, call } from "./api.ts";
import { find, need } from "./element.ts";
import { attempt, complain } from "./notice.ts";
import { pagePath, PREFIX } from "./page.ts";

/** What every page does: navigation, theme, sign out, activity; then the page's own work. */
export function start(show: () => Promise<void>): void {
  watchActivity();
  addEventListener("unhandledrejection", complainOfStray);
  find("#sign-out")?.addEventListener("click", () => void attempt(signOut));
  find("#theme")?.addEventListener("click", turnTheme);
  const menu = find(".menu");
  menu?.addEventListener("click", () => {
    const isOpen = menu.getAttribute("aria-expanded") === "true";
    menu.setAttribute("aria-expanded", String(!isOpen));
  });
  show()
    .catch((error: unknown) => {
      complain(error);
      // Without the resource, the frame of its page says nothing.
      const isMissing = error instanceof ApiError && [403, 404].includes(error.status);
      need("main", HTMLElement).classList.toggle("missing", isMissing);
    })
    .finally(() => {
      // For those who look at the page from outside.
      document.documentElement.dataset["shown"] = "true";
    });
}

/** The last net: what an act threw that nobody caught is shown all the same. */
function complainOfStray({ reason }: PromiseRejectionEvent): void {
  complain(reason);
}

async function signOut(): Promise<void> {
  await call("POST", ["auth", "logout"]);
  location.assign(pagePath("login"));
}

/** A cookie, so that the server already sends the page in the right theme. */
function turnTheme(): void {
  const root = document.documentElement;
  const isDark =
    root.dataset["theme"] === "dark" ||
    (root.dataset["theme"] === undefined && matchMedia("(prefers-color-scheme: dark)").matches);
  const theme = isDark ? "light" : "dark";
  root.dataset["theme"] = theme;
  document.cookie = `flowhook-theme=${theme}; path=${PREFIX}/ui; max-age=31536000; samesite=lax`;
  dispatchEvent(new Event("themechange"));
}
