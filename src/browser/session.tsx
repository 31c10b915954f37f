import { requireVisitor, SESSION_BACK, SESSION_END, SESSION_OF, type Visitor } from "./api.ts";
import type { Child } from "hono/jsx/dom";
import { append } from "./append.ts";
import { PREFIX, USER, USER_ID } from "./page.ts";

/** Says that the session has ended or is somebody else's, until it is the visitor's again. */
export function watchSession(): void {
  addEventListener(SESSION_END, showEnd);
  addEventListener(SESSION_BACK, () => clear("session-end"));
  addEventListener(SESSION_OF, (event) => showOther((event as CustomEvent<Visitor>).detail));
  // Whoever comes back from another tab may have signed in there. What cannot be asked now is
  // asked before the next act.
  addEventListener("focus", () => void requireVisitor().catch(() => {}));
}

function clear(style: string): void {
  for (const line of document.querySelectorAll(`.${style}`)) line.remove();
}

/**
 * At the top of the page and of a dialog, which covers it. What was typed stays: the login screen
 * opens in another tab, and what was refused can be sent again from here.
 */
function showEnd(): void {
  const next = encodeURIComponent(location.pathname + location.search);
  tell(
    "session-end",
    <>
      Your session has ended, so nothing can be read or changed.{" "}
      <a href={`${PREFIX}/ui/login?next=${next}`} target="_blank">
        Sign in again
      </a>{" "}
      in another tab, and go on here.
    </>,
  );
}

/** Who the page's lines name, where that is somebody else. */
let other: string | null = null;

/**
 * Name and permissions that the page shows are not those of who acts from here on. A line that
 * says so already stays as it is: somebody may be about to press its button.
 */
function showOther({ id, name }: Visitor): void {
  if (id === USER_ID || name !== other) clear("session-other");
  other = id === USER_ID ? null : name;
  if (other === null) return;
  tell(
    "session-other",
    <>
      <span>
        You are signed in as {name} in another tab, so this page of {USER} changes nothing.
      </span>
      <button type="button" class="quiet" onClick={() => location.reload()}>
        Load it again
      </button>
    </>,
  );
}

function tell(style: string, content: Child): void {
  for (const place of document.querySelectorAll<HTMLElement>(".banner"))
    if (place.querySelector(`.${style}`) === null) append(place, <p class={style}>{content}</p>);
}
