import { useLayoutEffect, useState } from "hono/jsx/dom";
import { complain } from "./notice.tsx";
import { track } from "./shown.ts";

/**
 * What a part of a page reads for itself; null until it is there.
 *
 * @param of what it depends on: read again where one of these changes
 */
export function useLoaded<Value>(
  load: () => Promise<Value>,
  of: readonly unknown[] = [],
): [value: Value | null, reload: () => Promise<void>] {
  const [value, setValue] = useState<Value | null>(null);
  const reload = async (): Promise<void> => setValue(await load());
  useLayoutEffect(() => {
    track(reload()).catch(complain);
  }, of);
  return [value, reload];
}
