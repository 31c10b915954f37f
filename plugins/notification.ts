import { defineFlow, v } from "flowhook";

/**
 * Receives a notification of some other system, and writes it into the execution's log.
 * Whoever notifies wants to hear one thing: that it arrived. 204 says so without a body.
 *
 *   curl -L "$URL/notification/call" \
 *     -H 'Content-Type: application/json' -d '{"severity": "warning", "text": "Disk is 91 % full"}'
 */
export default defineFlow({
  description: "Receives a notification and logs it by its severity",
  // The schema is the whole check: a body that does not fit ends the execution with the reason.
  input: v.object({
    json: v.object({
      severity: v.optional(v.picklist(["info", "warning", "error"]), "info"),
      text: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(2000)),
      source: v.optional(v.string(), "unknown source"),
    }),
  }),

  run(flow) {
    const { severity, text, source } = flow.input_value.json;
    const write = { info: flow.log.info, warning: flow.log.warn, error: flow.log.error }[severity];
    write(`${source}: ${text}`);
    flow.set_status_message(`${severity}: ${text}`);
    flow.webhook_response({ status: 204 });
    // The caller sees 204 and nothing else; this is for the record.
    return { severity, source };
  },
});
