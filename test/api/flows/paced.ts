import { defineFlow } from "flowhook";

/** Logs a line, waits for the gate at the address in `gate`, logs another, and fails on demand. */
export default defineFlow({
  permissions: { net: true },
  run: async (flow) => {
    const { gate, fail } = flow.input_value.query;
    flow.log.info("before the gate");
    if (gate !== undefined) await fetch(gate, { signal: flow.signal });
    flow.log.warn("after the gate");
    if (fail !== undefined) throw new Error("failed on demand");
    return "through";
  },
});
