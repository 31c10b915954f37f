import { defineFlow } from "flowhook";

/** Starts itself, again and again, without waiting for an end. */
export default defineFlow({
  run: async (flow) => {
    for (let n = 0; n < 100 && !flow.signal.aborted; n += 1)
      await flow.start_execution("family", {});
    return null;
  },
});
