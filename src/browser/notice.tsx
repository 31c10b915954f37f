import { isOfSession, isUnreached, sentenceOf, SERVICE_BACK } from "./api.ts";
import { append, need } from "./append.ts";
import { Said } from "./said.tsx";

/** How long a notice stays, in milliseconds; people who need longer find the state on the page. */
const SHOWN_MS = 6000;

/**
 * Says what was done; screen readers hear it, of an open dialog what is in the dialog alone. What the
 * act of a dialog says is said once that is closed, and so no second time as it closes.
 */
export function notify(text: string): void {
  const acting = document.querySelector("dialog[open][data-acting]");
  if (acting === null) say(text);
  else acting.addEventListener("close", () => say(text), { once: true });
}

function say(text: string): void {
  const place = document.querySelector<HTMLElement>("dialog[open] .notices") ?? need("notices");
  const note = append(
    place,
    <p class="notice">
      <Said text={text} />
    </p>,
  );
  setTimeout(() => note.remove(), SHOWN_MS);
}

/** Where something is said that stays: an open dialog covers the page's own place. */
export function banner(): HTMLElement {
  return document.querySelector<HTMLElement>("dialog[open] .banner") ?? need("banner");
}

/** Says at the top what could not be done, once until it is closed or, unreached, until it is over. */
export function complain(error: unknown): void {
  if (isOfSession(error)) return;
  const text = sentenceOf(error);
  const said = banner().querySelectorAll(".complaint > span");
  if ([...said].some(({ textContent }) => textContent === text)) return;
  const close = (): void => {
    line.remove();
    removeEventListener(SERVICE_BACK, close);
  };
  const line = append(
    banner(),
    <p class="complaint">
      <span>
        <Said text={text} />
      </span>
      <button type="button" class="quiet" onClick={close}>
        Close
      </button>
    </p>,
  );
  if (isUnreached(error)) addEventListener(SERVICE_BACK, close);
}
