import type { WebhookRate } from "../../shared/contract/webhook-limits.ts";
import { RequestError } from "../../shared/errors.ts";
import type { SharedStore } from "../store/shared-store.ts";

/** Beyond it the one that was used longest ago is forgotten: it is full again. */
const MOST_PARTITIONS = 10_000;

/** Calls that one partition of a webhook's rate has left (contract, section 8, number 6). */
export class Bucket {
  readonly rate: WebhookRate;
  #tokens: number;
  /** By the monotonic clock, in milliseconds. */
  #at: number;

  constructor(rate: WebhookRate, at: number, tokens: number = rate.burst) {
    this.rate = rate;
    this.#tokens = tokens;
    this.#at = at;
  }

  /** @returns whether there was a token */
  take(at: number): boolean {
    this.#refill(at);
    if (this.#tokens < 1 - ROUNDING) return false;
    this.#tokens = Math.max(0, this.#tokens - 1);
    return true;
  }

  /** Whole tokens, and seconds until there is one more; 0 where it is full. */
  state(at: number): { left: number; nextSec: number } {
    this.#refill(at);
    const { burst } = this.rate;
    const left = Math.floor(this.#tokens + ROUNDING);
    if (left >= burst) return { left: burst, nextSec: 0 };
    const missing = left + 1 - this.#tokens;
    return { left, nextSec: Math.max(1, Math.ceil(missing / this.#perSec - ROUNDING)) };
  }

  get #perSec(): number {
    return this.rate.calls / this.rate.per_sec;
  }

  #refill(at: number): void {
    const { burst } = this.rate;
    const tokens = this.#tokens + ((at - this.#at) / 1000) * this.#perSec;
    this.#at = at;
    this.#tokens = Math.min(burst, tokens);
  }
}

/** What the sum of many small parts lacks is no reason to refuse. */
const ROUNDING = 1e-9;

/** The tokens that calls of webhooks take. */
export interface RateLimits {
  /**
   * Takes a token.
   *
   * @param partition of the webhook's callers; null: all are one
   * @returns the bucket that it was taken from
   * @throws RequestError rate_limited
   */
  take(webhookId: string, partition: string | null, rate: WebhookRate): Bucket | Promise<Bucket>;
}

/** In memory. Buckets by webhook, and by partition of its callers: many of those push out no webhook's own. */
export class OwnRates implements RateLimits {
  readonly #whole = new Map<string, Bucket>();
  readonly #parts = new Map<string, Bucket>();
  readonly #clock: () => number;

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  take(webhookId: string, partition: string | null, rate: WebhookRate): Bucket {
    const at = this.#clock();
    const bucket =
      partition === null
        ? this.#find(this.#whole, webhookId, rate, at)
        : this.#find(this.#parts, `${webhookId} ${partition}`, rate, at);
    if (!bucket.take(at)) throw refuseRate(bucket, at);
    return bucket;
  }

  #find(buckets: Map<string, Bucket>, key: string, rate: WebhookRate, at: number): Bucket {
    const found = buckets.get(key);
    // Other limits begin anew.
    const bucket = found === undefined || !isSame(found.rate, rate) ? new Bucket(rate, at) : found;
    buckets.delete(key);
    buckets.set(key, bucket);
    if (buckets.size > MOST_PARTITIONS) buckets.delete(buckets.keys().next().value as string);
    return bucket;
  }
}

/** Of all services that use the store. The bucket that is answered is as it was found there. */
export class SharedRates implements RateLimits {
  readonly #store: Pick<SharedStore, "takeToken">;

  constructor(store: Pick<SharedStore, "takeToken">) {
    this.#store = store;
  }

  async take(webhookId: string, partition: string | null, rate: WebhookRate): Promise<Bucket> {
    const { calls, per_sec, burst } = rate;
    const { isTaken, tokens } = await this.#store.takeToken({
      key: `${webhookId} ${calls}/${per_sec}/${burst} ${partition ?? ""}`,
      isPartition: partition !== null,
      calls,
      per_sec,
      burst,
    });
    const at = performance.now();
    const bucket = new Bucket(rate, at, tokens);
    if (!isTaken) throw refuseRate(bucket, at);
    return bucket;
  }
}

/** What a caller is told of a bucket (draft-ietf-httpapi-ratelimit-headers). */
export function describeRate(bucket: Bucket, at = performance.now()): Record<string, string> {
  const { calls, per_sec } = bucket.rate;
  const { left, nextSec } = bucket.state(at);
  return {
    "ratelimit-policy": `"calls";q=${calls};w=${per_sec}`,
    ratelimit: `"calls";r=${left};t=${nextSec}`,
  };
}

function isSame(one: WebhookRate, other: WebhookRate): boolean {
  return (
    one === other ||
    (one.calls === other.calls && one.per_sec === other.per_sec && one.burst === other.burst)
  );
}

function refuseRate(bucket: Bucket, at: number): RequestError {
  const { calls, per_sec } = bucket.rate;
  const { nextSec } = bucket.state(at);
  return new RequestError(
    "rate_limited",
    `More than ${calls} calls in ${per_sec} s. Try again in ${nextSec} s`,
    { headers: { ...describeRate(bucket, at), "retry-after": String(nextSec) } },
  );
}
