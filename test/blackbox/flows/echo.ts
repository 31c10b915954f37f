import { defineFlow } from "flowhook";

export default defineFlow({
  description: "Gives back what it received",
  run: (flow) => flow.input_value,
});
