/**
 * Gathers values by their key, the newest of each, and hands them on at most once in an interval
 * (milliseconds): thousands of calls a second are one change of the page.
 */
export function gather<Value>(
  keyOf: (value: Value) => string,
  take: (values: readonly Value[]) => void,
  intervalMs = 250,
): (value: Value) => void {
  const waiting = new Map<string, Value>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (value) => {
    waiting.set(keyOf(value), value);
    timer ??= setTimeout(() => {
      timer = undefined;
      const values = [...waiting.values()];
      waiting.clear();
      take(values);
    }, intervalMs);
  };
}
