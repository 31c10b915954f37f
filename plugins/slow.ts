import { setTimeout as wait } from "node:timers/promises";
import { defineFlow, v } from "flowhook";

/**
 * Work that takes its time. A synchronous caller follows redirects until it is done; with
 * `?async` the caller gets the execution's id at once and comes back for the result.
 *
 *   curl -L "$URL/slow/call?seconds=3"
 */
export default defineFlow({
  description: "Waits for the seconds in the query, and stops at once when it is cancelled",
  // Longer than any wait it accepts, so that the limit never ends a wait that was promised.
  timeout_sec: 150,
  // Everything in a query is text, so the schema turns it into a number, and says what is wrong.
  input: v.object({
    query: v.object({
      seconds: v.optional(
        v.pipe(v.string(), v.transform(Number), v.number(), v.minValue(0), v.maxValue(120)),
        "5",
      ),
    }),
  }),

  async run(flow) {
    const { seconds } = flow.input_value.query;
    for (let second = 0; second < seconds; second++) {
      // Whoever looks at the execution sees its log while it runs.
      flow.log.info("Waiting", { second, seconds });
      // With the signal the wait ends when the caller hangs up; without it the thread is ended.
      await wait(Math.min(1, seconds - second) * 1000, undefined, { signal: flow.signal });
    }
    flow.set_status_message(`Waited ${seconds} seconds`);
    return { waited_seconds: seconds };
  },
});
