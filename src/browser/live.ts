import { HEARTBEAT, HEARTBEAT_MS } from "../shared/contract/event-stream.ts";
import { ApiError, call, SESSION_BACK } from "./api.ts";
import { apiPath } from "./page.ts";

/** When a refused stream is asked for again, in milliseconds: too many may have been open. */
const RETRY_MS = 10_000;

/** A stream that has told nothing for so long, in milliseconds, hangs: nobody says that it does. */
const SILENT_MS = 3 * HEARTBEAT_MS;

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
  const silence = watchSilence(() => {
    shut();
    open();
  });

  function open(): void {
    if (isClosed || source !== null || document.visibilityState !== "visible") return;
    source = new EventSource(apiPath(...path));
    silence.begin(source, ["open", HEARTBEAT, ...Object.keys(event)]);
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
    silence.end();
    const again = (error?: unknown): void => {
      if (error instanceof ApiError && error.status === 401) return;
      retry = setTimeout(open, RETRY_MS);
    };
    call("GET", ["auth", "me"]).then(() => again(), again);
  }

  function shut(): void {
    clearTimeout(retry);
    silence.end();
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

/** @param hung once nothing has been told for longer than by any stream that lives */
function watchSilence(hung: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => clearTimeout(timer);
  const hear = (): void => {
    end();
    timer = setTimeout(hung, SILENT_MS);
  };
  const begin = (source: EventSource, names: readonly string[]): void => {
    for (const name of names) source.addEventListener(name, hear);
    hear();
  };
  return { begin, end };
}
