import { defineFlow, v } from "flowhook";

export default defineFlow({
  input: v.object({
    query: v.object({ size: v.optional(v.pipe(v.string(), v.regex(/^\d+$/))) }),
    json: v.object({
      name: v.pipe(v.string(), v.minLength(2), v.trim(), v.maxLength(4)),
      address: v.optional(v.nullable(v.object({ city: v.string() }))),
    }),
  }),
  output: v.object({ hello: v.string() }),
  run({ input_value }) {
    const { method, path, headers, query, json } = input_value;
    return { hello: json.name, method, path, type: headers["content-type"], query };
  },
});
