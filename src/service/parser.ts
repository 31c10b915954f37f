import { Worker } from "node:worker_threads";
import type { LargeBodies } from "../api/json-body.ts";
import { JobThread } from "../lib/job-thread.ts";
import type { ParseLarge } from "../webhooks/payload.ts";
import type { ParserJobs } from "./parser-thread.ts";

/** Heap of the thread: some times what the largest body needs, in MB. */
const HEAP_MB = 512;
const HEAP_PER_BODY_MB = 48;

/** What the doors have parsed elsewhere. */
export interface Parser {
  readonly parseLarge: ParseLarge;
  readonly largeBodies: LargeBodies;
}

/** @param file gives the thread's entry, once it is needed */
export function openParser(file: () => string, max_body_bytes: number): Parser {
  const heap_mb = HEAP_MB + Math.ceil(max_body_bytes / 2 ** 20) * HEAP_PER_BODY_MB;
  const thread = new JobThread<ParserJobs>(
    () =>
      new Worker(file(), {
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: heap_mb },
      }),
  );
  return {
    parseLarge: (job, isWanted) => thread.run("payload", job, toTerms(job.bytes, isWanted)),
    largeBodies: {
      members: (bytes, isWanted) => thread.run("members", bytes, toTerms(bytes, isWanted)),
      document: (bytes, isWanted) => thread.run("document", bytes, toTerms(bytes, isWanted)),
    },
  };
}

/** Bytes that share their memory with others are copied. */
function toTerms(bytes: Uint8Array, isWanted: () => boolean) {
  const { buffer, length } = bytes;
  const is_own = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  return { size: length, isWanted, moved: is_own ? [buffer] : [] };
}
