import type { Worker } from "node:worker_threads";
import { RequestError } from "../shared/errors.ts";
import { JobThread, overloaded, type JobRefusals } from "./request/job-thread.ts";
import type { ParserJobs } from "./parser-thread.ts";
import type { CheckSchema } from "./webhooks/input-check.ts";

/** A check of a small input takes a millisecond. */
const LIMIT_MS = 3000;

/** Versions that are remembered as slow. */
const MOST_SLOW = 1000;

const REFUSALS: Partial<JobRefusals> = {
  tooLong: (seconds) =>
    new RequestError(
      "invalid_input",
      `The input takes longer than ${seconds} s to check against the flow's schema`,
    ),
  tooLarge: () =>
    new RequestError(
      "invalid_input",
      "The input takes too much memory to check against the flow's schema",
    ),
  tooMany: () => overloaded("Too many inputs wait to be checked. Try again later"),
};

/** Many times what a check of so many characters takes. */
function isSlow(ms: number, length: number): boolean {
  return ms > 500 && ms > length / 1000;
}

/**
 * Checks of inputs, in a thread of their own: a flow decides what its schema costs. A version of
 * which one check took far too long shares a second thread with others of its kind from then on.
 */
export function openSchemaChecks(hire: () => Worker): CheckSchema {
  const terms = { limitMs: LIMIT_MS, refusals: REFUSALS };
  const usual = new JobThread<ParserJobs>(hire, terms);
  const slow = new JobThread<ParserJobs>(hire, terms);
  const slowVersions = new Set<string>();
  return async ({ version, ...job }, owner) => {
    const thread = slowVersions.has(version) ? slow : usual;
    try {
      const verdict = await thread.run("schema", job, { size: job.input.length, ...owner });
      if (isSlow(verdict.ms, job.input.length)) remember(version);
      return verdict;
    } catch (error) {
      if (error instanceof RequestError && error.code === "invalid_input") remember(version);
      throw error;
    }
  };

  function remember(version: string): void {
    if (slowVersions.size >= MOST_SLOW) slowVersions.clear();
    slowVersions.add(version);
  }
}
