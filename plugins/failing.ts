import { defineFlow } from "flowhook";

/**
 * What a failure looks like. The caller gets status 500 and the text
 * `ENDED_ERROR: No stock left of 'lamp'`; the stack stays in the execution's log.
 *
 *   curl -L "$URL/failing/call?item=lamp"
 */
export default defineFlow({
  description: "Always fails, to show what a caller and an operator then see",

  run(flow) {
    const item = flow.input_value.query["item"] ?? "lamp";
    // Never seen: the message of the error takes its place.
    flow.set_status_message("Looking into the stock");
    flow.log.warn("The shelf is empty", { item });

    // A response made before a failure is kept in the record, and never sent.
    flow.webhook_json_response({ reserved: item });
    throw new Error(`No stock left of '${item}'`);
  },
});
