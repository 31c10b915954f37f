/** Of what nobody stops. */
export const NEVER = new AbortController().signal;

/**
 * Waits for what others may hold up for long, until nobody wants it any more.
 *
 * @throws the reason of the signal
 */
export async function unlessAborted<T>(stopping: AbortSignal, awaited: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(stopping.reason as Error);
  if (stopping.aborted) stop();
  stopping.addEventListener("abort", stop, { once: true });
  return Promise.race([awaited, promise]).finally(() =>
    stopping.removeEventListener("abort", stop),
  );
}
