import type { EndedStatus } from "../../shared/contract/status.ts";
import { Histogram } from "./histogram.ts";

/** What is counted for one webhook: numbers that are added to, because each call adds to them. */
export class WebhookFigures {
  /** By first digit of the status. */
  readonly answers = [0, 0, 0, 0, 0, 0];
  readonly durations = new Histogram();
  readonly signatures: Record<string, number> = Object.create(null) as Record<string, number>;
  duplicates = 0;
  readonly ended: Record<EndedStatus, number> = {
    ENDED_SUCCESS: 0,
    ENDED_ERROR: 0,
    ENDED_TIMEOUT: 0,
    ENDED_CANCELLED: 0,
  };
  readonly waits = new Histogram();
  readonly runs = new Histogram();
}

/**
 * Figures by name of the webhook; names beyond the most share one. Those that are expected are zero as
 * long as they may still have a name.
 */
export interface FiguresByWebhook extends Iterable<readonly [string, WebhookFigures]> {
  of(webhook: string): WebhookFigures;
  /** Says which may be counted next, instead of those before: a name is only for what was. */
  expect(webhooks: readonly string[]): void;
  /** Its own name, or that which it shares with others. */
  nameOf(webhook: string): string;
}

/** For what has no name of its own. */
const OTHER = "other";

const ZEROS = new WebhookFigures();

/** @param most names that have figures of their own; what has no webhook always has */
export function openFigures(most: number): FiguresByWebhook {
  const all = new Map<string, WebhookFigures>();
  let expected: readonly string[] = [];
  let named = 0;

  function add(webhook: string): WebhookFigures {
    const figures = new WebhookFigures();
    all.set(webhook, figures);
    return figures;
  }

  return {
    of(webhook) {
      const found = all.get(webhook);
      if (found !== undefined) return found;
      if (webhook === "") return add(webhook);
      if (named >= most) return all.get(OTHER) ?? add(OTHER);
      named += 1;
      return add(webhook);
    },
    expect: (webhooks) => void (expected = webhooks),
    nameOf(webhook) {
      this.of(webhook);
      return all.has(webhook) ? webhook : OTHER;
    },
    *[Symbol.iterator]() {
      yield* all;
      const uncounted = expected.filter((webhook) => !all.has(webhook));
      if (named < most) for (const webhook of uncounted) yield [webhook, ZEROS];
      else if (uncounted.length > 0 && !all.has(OTHER)) yield [OTHER, ZEROS];
    },
  };
}
