import { defineFlow } from "flowhook";

/**
 * Asks the address in the query parameter `gate` and waits for its answer: the test behind it
 * sees when the flow has started and decides when it goes on. `ignore` makes it deaf to cancel.
 */
export default defineFlow({
  permissions: { net: true },
  run: async (flow) => {
    const { gate, ignore } = flow.input_value.query;
    const response = await fetch(String(gate), ignore === undefined ? { signal: flow.signal } : {});
    return { gate: await response.text() };
  },
});
