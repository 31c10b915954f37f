import { defineFlow, v } from "flowhook";

/** An input with a member of each kind that a form has a field for, and of one that it has not. */
export default defineFlow({
  input: v.object({
    json: v.object({
      item: v.picklist(["lamp", "chair"]),
      count: v.pipe(v.number(), v.description("How many are ordered")),
      note: v.optional(v.string()),
      is_gift: v.optional(v.boolean()),
      address: v.optional(v.object({ city: v.string() })),
    }),
  }),
  run: (flow) => ({ got: flow.input_value.json }),
});
