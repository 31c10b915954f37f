import { defineFlow } from "flowhook";

/** What a flow is told about its own execution. */
export default defineFlow({ run: (flow) => flow.execution });
