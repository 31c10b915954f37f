import { parentPort } from "node:worker_threads";
import { readMembers } from "./api/json-body.ts";
import { readDocument } from "./api/import-document.ts";
import { toOutcome, type OutcomeJob } from "./executions/outcome.ts";
import { findValueError } from "./executions/value.ts";
import { serveJobs } from "./request/job-thread.ts";
import { findScalar } from "./webhooks/json-pointer.ts";
import { readLarge } from "./webhooks/large-payload.ts";
import { verifyThere } from "./webhooks/large-signature.ts";
import { checkAgainstSchema } from "./webhooks/schema-check.ts";

/** Entry of the parser's thread: what is large is parsed here, apart from the HTTP loop. */

const JOBS = {
  payload: readLarge,
  pointer: findScalar,
  members: readMembers,
  document: readDocument,
  schema: checkAgainstSchema,
  signature: verifyThere,
  value: findValueError,
  outcome: ({ id, ending, limits }: OutcomeJob) => toOutcome(id, ending, limits),
};

export type ParserJobs = typeof JOBS;

if (parentPort !== null) serveJobs(parentPort, JOBS);
