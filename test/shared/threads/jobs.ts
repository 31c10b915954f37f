import { parentPort, threadId } from "node:worker_threads";
import { RequestError } from "../../../src/shared/errors.ts";
import { serveJobs } from "../../../src/server/request/job-thread.ts";

/** A thread for the tests of jobs. */

const JOBS = {
  echo: (given: unknown) => given,
  thread: () => threadId,
  refuse: (field: string) => {
    throw new RequestError("invalid", "refused", { fields: [{ field, message: "expected" }] });
  },
  fail: () => {
    throw new RangeError("out of range");
  },
  spin: (): number => {
    for (;;) if (Math.random() > 2) return 1;
  },
  hoard: (): number => {
    const kept: unknown[] = [];
    for (;;) kept.push(Array.from({ length: 10_000 }, () => ({})));
  },
};

export type TestJobs = typeof JOBS;

if (parentPort !== null) serveJobs(parentPort, JOBS);
