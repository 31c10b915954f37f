import { defineFlow, v } from "flowhook";

/**
 * Receives the callback of a job that runs elsewhere for minutes or hours: a render, a payout,
 * a scan. The job was given `.../callback/call/<its id>` as the address to report to, so that
 * every job has an address of its own.
 *
 *   curl -L "$URL/callback/call/job-7" \
 *     -H 'Content-Type: application/json' -d '{"state": "done", "result": {"pages": 12}}'
 */
export default defineFlow({
  description: "Receives the state of an asynchronous job at its own sub-path",
  input: v.object({
    path: v.pipe(v.string("Call .../call/<job id>"), v.regex(/^[\w-]{1,64}$/, "That is no job id")),
    // One shape per state: a job that is done has a result, one that failed has a reason.
    json: v.variant("state", [
      v.object({
        state: v.literal("running"),
        percent: v.pipe(v.number(), v.minValue(0), v.maxValue(100)),
      }),
      v.object({ state: v.literal("done"), result: v.unknown() }),
      v.object({ state: v.literal("failed"), reason: v.string() }),
    ]),
  }),

  run(flow) {
    const { path: job, json: report } = flow.input_value;
    const { state } = report;
    switch (report.state) {
      case "running":
        flow.set_status_message(`Job ${job} is at ${report.percent} %`);
        // "Accepted" tells the other side that there is more to report.
        flow.webhook_response({ status: 202 });
        return { job, state };
      case "done":
        flow.set_status_message(`Job ${job} is done`);
        return { job, state, result: report.result };
      case "failed":
        // The job failed, the callback did not: the other side must not send it again.
        flow.log.error(`Job ${job} failed: ${report.reason}`);
        return { job, state, reason: report.reason };
    }
  },
});
