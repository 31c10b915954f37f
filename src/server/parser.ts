import { Worker } from "node:worker_threads";
import type { LargeBodies } from "./api/json-body.ts";
import type { Outcome, OutcomeJob } from "./executions/outcome.ts";
import type { ValueJob } from "./executions/value.ts";
import { JobThread, type JobOwner } from "./request/job-thread.ts";
import type { FindLarge } from "./webhooks/json-pointer.ts";
import type { ParseLarge } from "./webhooks/large-payload.ts";
import type { VerifyLarge } from "./webhooks/large-signature.ts";
import type { CheckSchema } from "./webhooks/input-check.ts";
import type { ParserJobs } from "./parser-thread.ts";
import { openSchemaChecks } from "./schema-checks.ts";

/** Heap of the thread: some times what the largest body needs, in MB. */
const HEAP_MB = 512;
const HEAP_PER_BODY_MB = 48;

/**
 * YAML that waits, in bytes: it takes fifty times as long as JSON, so that it has a thread of its
 * own, and waits in smaller numbers.
 */
const MOST_YAML_BYTES = 16 * 1024 * 1024;

/** What is large is parsed elsewhere. */
export interface Parser {
  readonly parseLarge: ParseLarge;
  readonly findLarge: FindLarge;
  readonly verifyLarge: VerifyLarge;
  readonly largeBodies: LargeBodies;
  /** Of flows: as many as run at most, and none is refused. */
  readonly judgeLarge: (job: OutcomeJob) => Promise<Outcome>;
  readonly checkLarge: (job: ValueJob) => Promise<string | null>;
  readonly checkSchema: CheckSchema;
}

/** @param file gives the threads' entry, once one is needed */
export function openParser(file: () => string, maxBodyBytes: number): Parser {
  const heapMb = HEAP_MB + Math.ceil(maxBodyBytes / 2 ** 20) * HEAP_PER_BODY_MB;
  const hire = (): Worker =>
    new Worker(file(), {
      name: "parser",
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
    });
  const bodies = new JobThread<ParserJobs>(hire);
  const yaml = new JobThread<ParserJobs>(hire, { mostBytes: MOST_YAML_BYTES });
  const flows = new JobThread<ParserJobs>(hire, { mostJobs: Infinity, mostBytes: Infinity });
  return {
    parseLarge: (job, owner) =>
      (job.rules.type === "yaml" ? yaml : bodies).run("payload", job, toTerms(job.bytes, owner)),
    findLarge: (job, owner) => bodies.run("pointer", job, { size: job.text.length, ...owner }),
    verifyLarge: (job, owner) =>
      bodies.run("signature", job, { size: job.request.body.length, ...owner }),
    largeBodies: {
      members: (bytes, owner) => bodies.run("members", bytes, toTerms(bytes, owner)),
      document: (bytes, owner) => yaml.run("document", bytes, toTerms(bytes, owner)),
    },
    judgeLarge: (job) => flows.run("outcome", job, ofFlow(job.ending.output_value ?? "")),
    checkLarge: (job) => flows.run("value", job, ofFlow(job.text)),
    checkSchema: openSchemaChecks(hire),
  };
}

function ofFlow({ length }: string) {
  return { size: length, isWanted: () => true };
}

/** Bytes that share their memory with others are copied. */
function toTerms(bytes: Uint8Array, owner: JobOwner) {
  const { buffer, length } = bytes;
  const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  return { size: length, ...owner, moved: isOwn ? [buffer] : [] };
}
