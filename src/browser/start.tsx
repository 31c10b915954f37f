import { render, type Child } from "hono/jsx/dom";
import { ApiError, isUnreached, SERVICE_BACK } from "./api.ts";
import { need } from "./append.ts";
import { openFrame } from "./frame.tsx";
import { Missing, titleOfMissing, type Subject } from "./missing.tsx";
import { complain } from "./notice.tsx";
import { track } from "./shown.ts";

/**
 * Shows a page, once it has read what it shows first. Each page's module calls this, once.
 *
 * @param subject what the page is about, where its address names that: it may not be there
 */
export function start(load: () => Promise<Child>, subject?: Subject): void {
  openFrame();
  const place = need("page");
  const show = async (): Promise<void> => {
    try {
      render(await load(), place);
    } catch (error) {
      if (subject !== undefined && error instanceof ApiError && error.status === 404) {
        nameDocument(titleOfMissing(subject));
        return render(<Missing of={subject} />, place);
      }
      complain(error);
      if (isUnreached(error)) addEventListener(SERVICE_BACK, again, { once: true });
      render(<h1>{document.title.replace(" · Flowhook", "")}</h1>, place);
    }
  };
  const again = (): void => void track(show());
  again();
}

/** The title of what is shown, where its address does not say it. */
export function nameDocument(title: string): void {
  document.title = `${title} · Flowhook`;
}
