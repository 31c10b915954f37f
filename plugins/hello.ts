import { defineFlow } from "flowhook";

/**
 * The first flow to read: what it returns is the answer.
 *
 *   curl -L "$URL/hello/call?name=Ada"
 *   curl -L "$URL/hello/call" -H 'Content-Type: application/json' -d '{"name": "Ada"}'
 */
export default defineFlow({
  description: "Greets whoever calls",

  run(flow) {
    const { json, query } = flow.input_value;
    const name = nameIn(json) ?? query["name"] ?? "world";
    flow.log.info("Greeting", name);
    return { hello: name };
  },
});

/** The body comes from outside: it can be anything that JSON can say. */
function nameIn(json: unknown): string | null {
  const isObject = typeof json === "object" && json !== null;
  return isObject && "name" in json && typeof json.name === "string" ? json.name : null;
}
