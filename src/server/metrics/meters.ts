import type { EndedStatus } from "../../shared/contract/status.ts";
import { ERRORS, type ErrorCode } from "../../shared/contract/error.ts";
import type { Histogram } from "./histogram.ts";
import { OF_WEBHOOK, READ, type MetricName, type Readings } from "./metric-table.ts";
import { RUNTIME } from "../../shared/runtime-name.ts";
import { openRuntimeMetrics } from "./runtime-metrics.ts";
import { toText, type Figure, type Sample } from "./text-format.ts";
import { openFigures, type FiguresByWebhook, type WebhookFigures } from "./webhook-figures.ts";

/** An execution that ended, for its figures. */
export interface MeteredEnding {
  /** null: no webhook started it. */
  readonly webhook: string | null;
  readonly status: EndedStatus;
  readonly waitMs: number;
  /** null: it never had a thread, or nobody knows until when. */
  readonly runMs: number | null;
}

/** The figures of the service, added to as things happen and printed when somebody asks. */
export interface Meters {
  /**
   * Says which webhooks are zero before their first call, instead of those before: who reads them sees
   * each rise from there. Where more than can be named are enabled, those that are called have the names.
   */
  begin(enabled: readonly string[]): void;
  /**
   * Counts an answer of the call endpoint.
   *
   * @param webhook Empty where there is none: names that callers make up are not kept
   */
  countCall(webhook: string, status: number, seconds: number): void;
  countRefusal(code: ErrorCode): void;
  /** @param result `right`, or why it was not */
  countSignature(webhook: string, result: string): void;
  /** A call for which an execution had been started before. */
  countDuplicate(webhook: string): void;
  countEnding(ending: MeteredEnding): void;
  /** Counts an ending as well: of one that a crash has ended. */
  countInterruption(webhook: string | null, waitMs: number): void;
  /** @param isLast whether no more are checked for a while */
  countFailedLogin(isLast: boolean): void;
  /** Adds up what is read of webhooks, by the names that their figures have. */
  sumByWebhook(
    readings: Iterable<readonly [webhook: string, value: number]>,
  ): Record<string, number>;
  /** In Prometheus' text format. */
  print(readings: Readings): Promise<string>;
}

export interface MetersOptions {
  /** METRICS_WEBHOOK_LABELS. */
  readonly namesWebhooks: boolean;
  /** The service's. */
  readonly version: string;
}

/** Webhooks with labels of their own: each that is called is some 70 lines. */
export const MOST_WEBHOOKS = 500;

export function openMeters({ namesWebhooks, version }: MetersOptions): Meters {
  const figures = openFigures(namesWebhooks ? MOST_WEBHOOKS : 0);
  const refusals = noRefusals();
  const logins = { failed: 0, last: 0 };
  let interrupted = 0;
  const printRuntime = openRuntimeMetrics();
  function countEnding({ webhook, status, waitMs, runMs }: MeteredEnding): void {
    const own = figures.of(webhook ?? "");
    own.ended[status] += 1;
    own.waits.observe(waitMs / 1000);
    if (runMs !== null) own.runs.observe(runMs / 1000);
  }
  return {
    begin(enabled) {
      const isMany = enabled.length > MOST_WEBHOOKS;
      // What has no webhook is zero too: replays, and what flows start.
      if (!isMany) figures.of("");
      figures.expect(isMany ? [] : enabled);
    },
    countCall(webhook, status, seconds) {
      const own = figures.of(webhook);
      own.answers[Math.trunc(status / 100)]! += 1;
      own.durations.observe(seconds);
    },
    countRefusal: (code) => void (refusals[code] += 1),
    countDuplicate: (webhook) => void (figures.of(webhook).duplicates += 1),
    countSignature(webhook, result) {
      const { signatures } = figures.of(webhook);
      signatures[result] = (signatures[result] ?? 0) + 1;
    },
    countEnding,
    countInterruption(webhook, waitMs) {
      interrupted += 1;
      countEnding({ webhook, status: "ENDED_ERROR", waitMs, runMs: null });
    },
    countFailedLogin(isLast) {
      logins.failed += 1;
      if (isLast) logins.last += 1;
    },
    sumByWebhook(readings) {
      const sums = Object.create(null) as Record<string, number>;
      for (const [webhook, value] of readings) {
        const name = figures.nameOf(webhook);
        sums[name] = (sums[name] ?? 0) + value;
      }
      return sums;
    },
    async print(readings) {
      const texts = [
        toText("flowhook_build_info", [[1, version, RUNTIME]]),
        ...namesOf(OF_WEBHOOK).map((name) => toText(name, samplesOf(figures, SHOWN[name]))),
        toText("flowhook_refusals_total", [[toRefusals(refusals)]]),
        toText("flowhook_executions_interrupted_total", [[interrupted]]),
        toText("flowhook_failed_logins_total", [[logins.failed]]),
        toText("flowhook_lockouts_total", [[logins.last]]),
        ...namesOf(READ).map((name) => toText(name, toSamples(readings[name]))),
      ];
      return texts.join("") + (await printRuntime());
    },
  };
}

function noRefusals(): Record<ErrorCode, number> {
  const none = Object.keys(ERRORS).map((code) => [code, 0] as const);
  return Object.fromEntries(none) as Record<ErrorCode, number>;
}

/** What a metric shows of a webhook; null: nothing yet. */
const SHOWN: Readonly<Record<keyof typeof OF_WEBHOOK, (own: WebhookFigures) => Figure | null>> = {
  flowhook_calls_total: ({ answers }) => toClasses(answers),
  flowhook_call_duration_seconds: ({ durations }) => orNull(durations),
  flowhook_signature_total: ({ signatures }) => signatures,
  flowhook_duplicates_total: ({ duplicates }) => (duplicates === 0 ? null : duplicates),
  flowhook_executions_ended_total: ({ ended }) => ended,
  flowhook_execution_wait_seconds: ({ waits }) => orNull(waits),
  flowhook_execution_run_seconds: ({ runs }) => orNull(runs),
};

function samplesOf(
  figures: FiguresByWebhook,
  show: (own: WebhookFigures) => Figure | null,
): Sample[] {
  return [...figures].flatMap(([webhook, own]) => {
    const figure = show(own);
    return figure === null ? [] : [[figure, webhook] as const];
  });
}

function toSamples(read: number | Readonly<Record<string, number>> | null): Sample[] {
  return read === null ? [] : [[read]];
}

/** Those that a call can be answered with, also where none has been: zero is a figure. */
function toClasses(answers: readonly number[]): Record<string, number> {
  const classes = answers.map((count, digit) => [`${digit}xx`, count] as const);
  return Object.fromEntries(classes.slice(2));
}

/** What the service is to blame for also where it never happened: that it began is to be seen. */
function toRefusals(counts: Readonly<Record<ErrorCode, number>>): Record<string, number> {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const shown = codes.filter((code) => ERRORS[code].status >= 500 || counts[code] > 0);
  return Object.fromEntries(shown.map((code) => [code, counts[code]]));
}

function orNull(histogram: Histogram): Histogram | null {
  return isZero(histogram.counts) ? null : histogram;
}

function isZero(counts: readonly number[]): boolean {
  return counts.every((count) => count === 0);
}

function namesOf<Name extends MetricName>(table: Readonly<Record<Name, unknown>>): Name[] {
  return Object.keys(table) as Name[];
}
