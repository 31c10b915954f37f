import { call } from "./api.ts";
import { apiPath } from "./page.ts";

interface Live {
  close(): void;
}

/**
 * Follows server-sent events while the page is looked at: browsers open six connections to a
 * service at most, and hidden tabs would use them up.
 *
 * @param onOpen also after an interruption, to read what was missed
 */
export function follow(
  path: readonly string[],
  event: Readonly<Record<string, (data: unknown, id: string) => void>>,
  onOpen: () => void = () => {},
  onState: (is_live: boolean) => void = () => {},
): Live {
  let source: EventSource | null = null;

  function open(): void {
    if (source !== null || document.visibilityState !== "visible") return;
    source = new EventSource(apiPath(...path));
    source.addEventListener("open", () => {
      onState(true);
      onOpen();
    });
    source.addEventListener("error", () => {
      onState(false);
      // A refused stream does not come back by itself: the API says why.
      if (source?.readyState === EventSource.CLOSED) call("GET", ["auth", "me"]).catch(() => {});
    });
    for (const [name, take] of Object.entries(event))
      source.addEventListener(name, ({ data, lastEventId }) =>
        take(JSON.parse(String(data)), lastEventId),
      );
  }

  function shut(): void {
    source?.close();
    source = null;
    onState(false);
  }

  const turn = (): void => (document.visibilityState === "visible" ? open() : shut());
  document.addEventListener("visibilitychange", turn);
  open();
  return {
    close() {
      document.removeEventListener("visibilitychange", turn);
      shut();
    },
  };
}
