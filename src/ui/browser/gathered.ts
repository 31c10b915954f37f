/** How often a page takes up what has come, in milliseconds: thousands of calls a second are one. */
const INTERVAL_MS = 250;

/** Gathers values by their key, the newest of each, and hands them on now and then. */
export function gather<Value>(
  keyOf: (value: Value) => string,
  take: (values: readonly Value[]) => void,
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
    }, INTERVAL_MS);
  };
}
