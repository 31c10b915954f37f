import { read, SESSION_BACK, SESSION_END } from "./api.ts";
import { append } from "./append.ts";
import { complain } from "./notice.tsx";
import { PREFIX, USER } from "./page.ts";

/** Says that the session has ended, until the service knows the visitor again. */
export function watchSession(): void {
  addEventListener(SESSION_END, showEnd);
  addEventListener(SESSION_BACK, () => linesOfEnd().forEach((line) => line.remove()));
  // Whoever comes back from another tab may have signed in there.
  addEventListener("focus", () => {
    if (linesOfEnd().length > 0) askWho().catch(() => {});
  });
}

function linesOfEnd(): readonly HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(".session-end")];
}

/**
 * At the top of the page and of a dialog, which covers it. What was typed stays: the login screen
 * opens in another tab, and what was refused can be sent again from here.
 */
function showEnd(): void {
  const next = encodeURIComponent(location.pathname + location.search);
  for (const place of document.querySelectorAll<HTMLElement>(".banner"))
    if (place.querySelector(".session-end") === null)
      append(
        place,
        <p class="session-end">
          Your session has ended, so nothing can be read or changed.{" "}
          <a href={`${PREFIX}/ui/login?next=${next}`} target="_blank">
            Sign in again
          </a>{" "}
          in another tab, and go on here.
        </p>,
      );
}

/** Somebody else's login has another page than this one. */
async function askWho(): Promise<void> {
  const { name } = await read<{ name: string }>(["auth", "me"]);
  if (name !== USER) complain(new Error(`You are ${name} now: load this page again`));
}
