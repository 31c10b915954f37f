import { sentenceOf } from "./api.ts";
import { append, need } from "./append.ts";

/** How long a notice stays, in milliseconds; people who need longer find the state on the page. */
const SHOWN_MS = 6000;

/** Says what was done; screen readers hear it. */
export function notify(text: string): void {
  const note = append(need("notices"), <p class="notice">{text}</p>);
  setTimeout(() => note.remove(), SHOWN_MS);
}

/** Says at the top of the page what could not be done; it stays until it is closed. */
export function complain(error: unknown): void {
  const close = () => line.remove();
  const line = append(
    need("banner"),
    <p class="complaint">
      {sentenceOf(error)}
      <button type="button" class="quiet" onClick={close}>
        Close
      </button>
    </p>,
  );
}
