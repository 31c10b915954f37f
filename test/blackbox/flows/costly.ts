import { defineFlow } from "flowhook";

/** Each schema asks twice for the one before: 2^40 checks of the last. */
const choices = Object.fromEntries(
  Array.from({ length: 40 }, (_, n) => {
    const next = n === 0 ? { type: "string" } : { $ref: `#/$defs/c${n - 1}` };
    return [`c${n}`, { allOf: [{ anyOf: [next, next] }] }];
  }),
);

const json = {
  properties: { text: { pattern: "^(a+)+$" }, choice: { $ref: "#/$defs/c39" } },
};

export default defineFlow({
  input: {
    "~standard": {
      version: 1,
      vendor: "costly",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => ({ $defs: choices, properties: { json } }) },
    },
  } as never,
  run: () => "ran",
});
