import type { MessagePort, Worker } from "node:worker_threads";
import type { ErrorCode } from "../../shared/contract/error.ts";
import type { FieldError } from "../../shared/contract/problem.ts";
import { RequestError } from "../../shared/errors.ts";
import { FairQueue, type Queued, type QueueLimits } from "./fair-queue.ts";

/** What a thread does for the HTTP loop: functions by their names. */
export type Jobs = Readonly<Record<string, (given: never) => unknown>>;

/** A job, as the thread is sent it. */
interface JobRequest {
  readonly name: string;
  readonly given: unknown;
}

/** A refusal crosses to the HTTP loop by its parts. */
type JobAnswer =
  | { readonly value: unknown }
  | { readonly refused: { code: ErrorCode; detail: string; fields: readonly FieldError[] } }
  | { readonly error: string };

/** What the thread says once its program is loaded. */
const STARTED = "started";

/** Whoever waits for a job. */
export interface JobOwner {
  /** Clients take turns. */
  readonly client: string;
  /** Asked when the job's turn comes: whether anybody still waits for it. */
  readonly isWanted: () => boolean;
}

/** How a job is to be run. */
interface JobTerms {
  readonly isWanted: JobOwner["isWanted"];
  /** Absent: the service itself. */
  readonly client?: string;
  /** Bytes that it reads: what it may take is in proportion. */
  readonly size: number;
  /** Memory that moves to the thread instead of being copied. */
  readonly moved?: readonly ArrayBuffer[];
}

interface Job extends JobTerms, Queued {
  readonly client: string;
  readonly request: JobRequest;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface JobLimits extends QueueLimits {
  /** The longest that a job may take: far beyond what any text of its size needs. */
  readonly limitMs: number;
  readonly limitMsPerMb: number;
  /** A thread without work ends after this time. */
  readonly idleMs: number;
  readonly refusals: JobRefusals;
}

/** Where it is told nothing else, a thread is as for large bodies. */
type OwnLimits = Omit<JobLimits, "refusals"> & { readonly refusals: Partial<JobRefusals> };

/** Refusals of jobs that the thread does not come to an end with, in the words of what it does. */
export interface JobRefusals {
  readonly tooLong: (seconds: number) => Error;
  readonly tooLarge: () => Error;
  readonly tooMany: () => RequestError;
  /** The system has none. */
  readonly noThread: (cause: unknown) => RequestError;
  /** Nobody reads it: it stands in the audit. */
  readonly gone: () => RequestError;
}

const PARSING: JobRefusals = {
  tooLong: (seconds) =>
    new RequestError("bad_body", `The body takes longer than ${seconds} s to parse`),
  tooLarge: () => new RequestError("bad_body", "The body takes too much memory to parse"),
  tooMany: () => overloaded("Too many large bodies wait to be parsed. Try again later"),
  noThread: (cause) =>
    overloaded("The system has no thread for what is large. Try again later", cause),
  gone: () => new RequestError("bad_body", "The client is gone"),
};

const LIMITS: JobLimits = {
  mostJobs: 256,
  mostBytes: 128 * 1024 * 1024,
  limitMs: 10_000,
  limitMsPerMb: 2000,
  idleMs: 30_000,
  refusals: PARSING,
};

/** Longer than the start of a thread takes on however busy a machine: no job is the slower for it. */
const START_MS = 30_000;

/**
 * Work that would stop the HTTP loop for too long, in a thread of its own: one job at a time,
 * each client's in order, the clients in turn. The thread starts with the first job, and is replaced
 * where a job takes too long or too much memory.
 */
export class JobThread<T extends Jobs> {
  readonly #open: () => Worker;
  readonly #limits: JobLimits;
  readonly #waiting = new FairQueue<Job>();
  #current: Job | null = null;
  #worker: Worker | null = null;
  #limit: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(open: () => Worker, limits: Partial<OwnLimits> = {}) {
    this.#open = open;
    this.#limits = { ...LIMITS, ...limits, refusals: { ...PARSING, ...limits.refusals } };
  }

  /** Whether one more of this client may wait. @param size as in its terms */
  hasRoom(client: string, size = 0): boolean {
    return this.#waiting.hasRoom({ client, size }, this.#limits);
  }

  /** @throws RequestError overloaded, bad_body where it takes too long or too much, or the job's own */
  run<Name extends keyof T & string>(
    name: Name,
    given: Parameters<T[Name]>[0],
    terms: JobTerms,
  ): Promise<ReturnType<T[Name]>> {
    const { client = "", size } = terms;
    if (!this.hasRoom(client, size)) return Promise.reject(this.#limits.refusals.tooMany());
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.add({ request: { name, given }, ...terms, client, resolve, reject });
    this.#next();
    return promise as Promise<ReturnType<T[Name]>>;
  }

  #next(): void {
    while (this.#current === null) {
      const job = this.#waiting.take();
      if (job === undefined) return this.#rest();
      if (job.isWanted()) this.#start(job);
      else job.reject(this.#limits.refusals.gone());
    }
  }

  #start(job: Job): void {
    clearTimeout(this.#idle);
    this.#current = job;
    this.#allow(job, this.#worker === null ? START_MS : 0);
    try {
      this.#worker ??= this.#hire();
      this.#worker.postMessage(job.request, [...(job.moved ?? [])]);
    } catch (error) {
      const { noThread } = this.#limits.refusals;
      this.#settle(() => job.reject(isNoThread(error) ? noThread(error) : (error as Error)));
    }
  }

  /** From now on it has its time; its thread may have to start first. */
  #allow(job: Job, startMs: number): void {
    const { limitMs, limitMsPerMb, refusals } = this.#limits;
    const ms = limitMs + (job.size / 2 ** 20) * limitMsPerMb;
    const refuse = () => this.#lose(refusals.tooLong(Math.ceil(ms / 1000)));
    clearTimeout(this.#limit);
    this.#limit = setTimeout(refuse, startMs + ms);
  }

  #hire(): Worker {
    const worker = this.#open();
    worker.on("message", (answer: JobAnswer | typeof STARTED) => {
      if (worker !== this.#worker) return;
      if (answer !== STARTED) this.#settle((job) => tell(job, answer));
      else if (this.#current !== null) this.#allow(this.#current, 0);
    });
    worker.on("error", (error) => {
      const { noThread, tooLarge } = this.#limits.refusals;
      const refused = isNoThread(error) ? noThread(error) : tooLarge();
      if (worker === this.#worker) this.#lose(refused);
    });
    // It is no reason for the process to go on; a listener that comes later would make it one.
    worker.unref();
    return worker;
  }

  #settle(tellIt: (job: Job) => void): void {
    const job = this.#current;
    clearTimeout(this.#limit);
    this.#current = null;
    if (job !== null) tellIt(job);
    this.#next();
  }

  /** The next job gets another thread. */
  #lose(refused: Error): void {
    this.#end();
    this.#settle((job) => job.reject(refused));
  }

  #rest(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(), this.#limits.idleMs).unref();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    // Nobody needs it any more, whether it ends well or not.
    worker?.terminate().catch(() => {});
  }
}

function tell(job: Job, answer: JobAnswer): void {
  if ("value" in answer) return job.resolve(answer.value);
  if ("error" in answer) return job.reject(new Error(answer.error));
  const { code, detail, fields } = answer.refused;
  job.reject(new RequestError(code, detail, { fields: [...fields] }));
}

/** Whether the system has none: a limit of processes, or of memory, is reached. */
function isNoThread(error: unknown): boolean {
  return (error as { code?: unknown }).code === "ERR_WORKER_INIT_FAILED";
}

export function overloaded(detail: string, cause?: unknown): RequestError {
  return new RequestError("overloaded", detail, { headers: { "retry-after": "5" }, cause });
}

/** The thread's side: one job after the other. */
export function serveJobs(port: MessagePort, jobs: Jobs): void {
  port.on("message", (request: JobRequest) => port.postMessage(doJob(jobs, request)));
  port.postMessage(STARTED);
}

function doJob(jobs: Jobs, { name, given }: JobRequest): JobAnswer {
  try {
    return { value: jobs[name]?.(given as never) };
  } catch (error) {
    if (!(error instanceof RequestError)) return { error: String(error) };
    return { refused: { code: error.code, detail: error.message, fields: error.fields } };
  }
}
