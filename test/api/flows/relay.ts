import { defineFlow, v } from "flowhook";

/** Starts the flow that its input names, and waits for it. */
export default defineFlow({
  input: v.object({ start: v.string() }),
  run: (flow) => flow.start_execution(flow.input_value.start, {}, { wait: true }),
});
