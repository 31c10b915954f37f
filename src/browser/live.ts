import { ApiError, call, SESSION_BACK } from "./api.ts";
import { apiPath } from "./page.ts";

/** When a refused stream is asked for again, in milliseconds: too many may have been open. */
const RETRY_MS = 10_000;

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
  onState: (isLive: boolean) => void = () => {},
): Live {
  let source: EventSource | null = null;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;

  function open(): void {
    if (isClosed || source !== null || document.visibilityState !== "visible") return;
    source = new EventSource(apiPath(...path));
    source.addEventListener("open", () => {
      onState(true);
      onOpen();
    });
    source.addEventListener("error", () => {
      onState(false);
      if (source?.readyState === EventSource.CLOSED) refused();
    });
    for (const [name, take] of Object.entries(event))
      source.addEventListener(name, ({ data, lastEventId }) =>
        take(JSON.parse(String(data)), lastEventId),
      );
  }

  /** It does not come back by itself: the API says whether it has to wait for another login. */
  function refused(): void {
    source = null;
    const again = (error?: unknown): void => {
      if (error instanceof ApiError && error.status === 401) return;
      retry = setTimeout(open, RETRY_MS);
    };
    call("GET", ["auth", "me"]).then(() => again(), again);
  }

  function shut(): void {
    clearTimeout(retry);
    source?.close();
    source = null;
    onState(false);
  }

  const turn = (): void => (document.visibilityState === "visible" ? open() : shut());
  document.addEventListener("visibilitychange", turn);
  addEventListener(SESSION_BACK, open);
  open();
  return {
    close() {
      isClosed = true;
      document.removeEventListener("visibilitychange", turn);
      removeEventListener(SESSION_BACK, open);
      shut();
    },
  };
}
