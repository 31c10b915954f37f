/** An answer with the whole of its text. */
export interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface ExchangeRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: AbortSignal | null;
}

/**
 * One request and its answer. By `XMLHttpRequest`, which tells each time more has come: a browser
 * takes an answer of `fetch` that is read in pieces, and may not be kept, for broken off.
 *
 * @param limitMs how long nothing may come, in milliseconds: neither the answer nor more of it
 * @throws the reason of the request's own signal where that ended it, a DOMException named
 *   `TimeoutError` where nothing came for that long, `NetworkError` where the service is not reached
 */
export async function exchange(
  target: string,
  { method, headers, body, signal }: ExchangeRequest,
  limitMs = Infinity,
): Promise<Exchange> {
  const request = new XMLHttpRequest();
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
  const end = (reason: unknown): void => {
    reject(reason);
    request.abort();
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(timer);
    if (limitMs === Infinity) return;
    timer = setTimeout(() => end(new DOMException("", "TimeoutError")), limitMs);
  };
  const endBySignal = (): void => end(signal?.reason);
  request.addEventListener("readystatechange", listen);
  request.addEventListener("progress", listen);
  request.addEventListener("load", () => {
    try {
      resolve(toExchange(request));
    } catch (error) {
      // A header that a proxy has spoilt.
      reject(error);
    }
  });
  // Whoever stops the page from loading ends what it reads, which tells `abort` alone.
  for (const type of ["error", "abort"])
    request.addEventListener(type, () => reject(new DOMException("", "NetworkError")));
  request.addEventListener("loadend", () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", endBySignal);
  });
  signal?.throwIfAborted();
  signal?.addEventListener("abort", endBySignal);
  request.open(method, target);
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  request.send(body);
  return promise;
}

function toExchange(request: XMLHttpRequest): Exchange {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1));
  }
  return { status: request.status, headers, text: request.responseText };
}
