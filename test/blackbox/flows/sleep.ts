import { setTimeout as sleep } from "node:timers/promises";
import { defineFlow } from "flowhook";

export default defineFlow({
  run: async (flow) => {
    const ms = Number(flow.input_value.query["ms"] ?? 0);
    await sleep(ms, undefined, { signal: flow.signal });
    return { slept: ms };
  },
});
