/** An answer with the whole of its text. */
export interface Exchange {
  readonly response: Response;
  readonly text: string;
}

/**
 * One request and its answer.
 *
 * @param limitMs how long nothing may come, in milliseconds: neither the answer nor more of it
 * @throws DOMException named `AbortError` where the request's own signal ended it, `TimeoutError`
 *   where nothing came for that long; whatever `fetch` throws where the service is not reached
 */
export async function exchange(
  target: string,
  request: RequestInit,
  limitMs = Infinity,
): Promise<Exchange> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(timer);
    if (limitMs === Infinity) return;
    timer = setTimeout(() => silence.abort(new DOMException("", "TimeoutError")), limitMs);
  };
  const heard = new TransformStream<BufferSource, BufferSource>({
    transform(chunk, controller) {
      listen();
      controller.enqueue(chunk);
    },
  });
  const signals = [silence.signal, ...(request.signal ? [request.signal] : [])];
  listen();
  try {
    const response = await fetch(target, { ...request, signal: AbortSignal.any(signals) });
    listen();
    const text = await new Response(response.body?.pipeThrough(heard)).text();
    return { response, text };
  } finally {
    clearTimeout(timer);
  }
}
