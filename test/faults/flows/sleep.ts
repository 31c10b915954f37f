import { setTimeout as sleep } from "node:timers/promises";

interface Sleeping {
  readonly input_value: { readonly query: { readonly ms?: string } };
  readonly signal: AbortSignal;
}

export default async ({ input_value, signal }: Sleeping): Promise<unknown> => {
  const ms = Number(input_value.query.ms ?? 0);
  await sleep(ms, undefined, { signal });
  return { slept: ms };
};
