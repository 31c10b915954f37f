import * as v from "valibot";

/** The member `limits` of a webhook: how often it may be called, and how many of its runs are at once. */

const wholeNumber = (least: number, most: number) =>
  v.pipe(
    v.number("expected a number"),
    v.integer("expected a whole number"),
    v.minValue(least, `expected at least ${least}`),
    v.maxValue(most, `expected at most ${most}`),
  );

const BY = ["webhook", "address", "user"] as const;
const WHEN_BUSY = ["queue", "refuse", "replace"] as const;

const RATE = v.pipe(
  v.strictObject({
    calls: wholeNumber(1, 1_000_000),
    per_sec: wholeNumber(1, 86_400),
    burst: v.optional(wholeNumber(1, 1_000_000)),
    by: v.optional(v.picklist(BY, `expected one of ${BY.join(", ")}`), "webhook"),
  }),
  v.transform((given) => ({ ...given, burst: given.burst ?? given.calls })),
);

export const WEBHOOK_LIMITS = v.strictObject({
  rate: v.optional(v.nullable(RATE), null),
  max_concurrent: v.optional(v.nullable(wholeNumber(1, 4096)), null),
  when_busy: v.optional(v.picklist(WHEN_BUSY, `expected one of ${WHEN_BUSY.join(", ")}`), "queue"),
  max_queued: v.optional(v.nullable(wholeNumber(0, 1_000_000)), null),
});

export type WebhookLimits = v.InferOutput<typeof WEBHOOK_LIMITS>;

/** So many calls in so many seconds; `burst` of them at once. */
export type WebhookRate = v.InferOutput<typeof RATE>;
