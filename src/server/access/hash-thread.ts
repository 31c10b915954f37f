import { Worker } from "node:worker_threads";
import { RequestError } from "../../shared/errors.ts";
import { JobThread, overloaded } from "../request/job-thread.ts";

/** It holds some 10 MB, so it goes when nothing has come for so long, in milliseconds. */
const IDLE_MS = 10_000;

/** So many take some fifteen seconds: whoever comes then is told to come again. */
const MOST_WAITING = 256;

const PROGRAM = `
const { parentPort } = require("node:worker_threads");
const { argon2Sync, scryptSync } = require("node:crypto");
const hashes = {
  argon2id: ({ password, salt, bytes, cost }) =>
    argon2Sync("argon2id", { message: password, nonce: salt, tagLength: bytes, ...cost }),
  scrypt: ({ password, salt, bytes, cost }) => scryptSync(password, salt, bytes, cost),
};
parentPort.on("message", ({ name, given }) => parentPort.postMessage({ value: hashes[name](given) }));
parentPort.postMessage("started");
`;

/** It has no files and no network; Deno knows no such flag. */
const FLAGS = "Deno" in globalThis ? [] : ["--permission"];

/** What a hash is made of. */
export interface HashParameters {
  readonly password: string;
  readonly salt: Uint8Array;
  /** Length of the hash. */
  readonly bytes: number;
  /** As the algorithm names it. */
  readonly cost: Readonly<Record<string, number>>;
}

type Hash = (parameters: HashParameters) => Uint8Array;

/**
 * Makes hashes, one after the other and the clients in turn, in a thread that is there as long as
 * some come. The allocator keeps for each thread what that has freed: the four that the runtime does
 * such work in, and reads files in, would hold up to 130 MB after some logins.
 */
export function openHashThread(): JobThread<Readonly<Record<"argon2id" | "scrypt", Hash>>> {
  const hire = () =>
    new Worker(PROGRAM, { name: "password", eval: true, env: {}, execArgv: FLAGS });
  const failed = () => new Error("The password's hash cannot be made");
  return new JobThread(hire, {
    mostJobs: MOST_WAITING,
    idleMs: IDLE_MS,
    refusals: {
      tooLong: failed,
      tooLarge: failed,
      tooMany: refuseCrowded,
      noThread: (cause) => overloaded("The system has no thread for passwords. Try again", cause),
      gone: () => new RequestError("bad_request", "The client left before its turn"),
    },
  });
}

export function refuseCrowded(): RequestError {
  return new RequestError("too_many_attempts", "Too many attempts at once. Try again in a second", {
    headers: { "retry-after": "1" },
  });
}
