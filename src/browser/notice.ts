import { button, el, need } from "./element.ts";
import { sentenceOf } from "./api.ts";

/** How long a notice stays, in milliseconds; people who need longer find the state on the page. */
const SHOWN_MS = 6000;

/** Says what was done; screen readers hear it. */
export function notify(text: string): void {
  const note = el("p", { class: "notice" }, text);
  need("#notices", HTMLElement).append(note);
  setTimeout(() => note.remove(), SHOWN_MS);
}

/** Says at the top of the page what could not be done; it stays until it is closed. */
export function complain(error: unknown): void {
  const line = el("p", { class: "complaint" }, sentenceOf(error));
  line.append(button("Close", "quiet", () => line.remove()));
  need("#banner", HTMLElement).append(line);
}

/** Runs an act and complains about what it throws; the button waits for it. */
export async function attempt(act: () => Promise<void>, by?: HTMLButtonElement): Promise<void> {
  if (by !== undefined) by.disabled = true;
  try {
    await act();
  } catch (error) {
    complain(error);
  } finally {
    if (by !== undefined) by.disabled = false;
  }
}
