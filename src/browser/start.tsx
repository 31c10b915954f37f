import { render, type Child } from "hono/jsx/dom";
import { isUnreached, SERVICE_BACK } from "./api.ts";
import { need } from "./append.ts";
import { openFrame } from "./frame.tsx";
import { complain } from "./notice.tsx";
import { track } from "./shown.ts";

/** Shows a page, once it has read what it shows first. Each page's module calls this, once. */
export function start(load: () => Promise<Child>): void {
  openFrame();
  const place = need("page");
  const show = async (): Promise<void> => {
    try {
      render(await load(), place);
    } catch (error) {
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
