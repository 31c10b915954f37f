import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Duplex, Readable } from "node:stream";
import type { Log } from "../lib/log.ts";
import type {
  Ending,
  FlowSpec,
  FromRunner,
  Inspection,
  Job,
  LogLine,
  OperationAnswer,
  OperationRequest,
  RunnerSetup,
  ToRunner,
} from "./protocol.ts";
import { encodeFrames, FrameReader } from "./frames.ts";
import { isFromRunner } from "./shapes.ts";
import { spawnRunner } from "./spawn.ts";
import { residentBytes } from "./memory.ts";

/** Longest silence of a runner that has something to do. */
const SILENCE_MS = 10_000;
const WATCH_MS = 250;
/** After the grace and the termination; the thread must have ended by then. */
const TERMINATION_MS = 2_000;

export interface RunnerOptions {
  readonly file: string;
  readonly setup: RunnerSetup;
  /** Resident memory above which it takes no more runs; a quarter more ends it. */
  readonly memory_bytes: number;
  readonly log: Log;
  onLog(id: string, lines: readonly LogLine[]): void;
  onOperation(request: OperationRequest): Promise<OperationAnswer>;
  /** It has ended, unless by `close`; `keys` are the versions that may have been the cause. */
  onLost(runner: Runner, keys: readonly string[], how: string): void;
}

interface Run {
  readonly key: string;
  settle(ending: Ending): void;
  watch: NodeJS.Timeout | null;
}

/** A runner process as the server sees it. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #child: ChildProcess;
  readonly #channel: Duplex;
  readonly #token = randomBytes(16).toString("hex");
  readonly #frames = new FrameReader(this.#token);
  readonly #runs = new Map<string, Run>();
  readonly #inspections = new Map<number, (inspection: Inspection) => void>();
  readonly #specs = new Set<string>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #watching: NodeJS.Timeout;
  #outbox: ToRunner[] = [];
  #last = 0;
  #silent = 0;
  #closing = false;
  #ended = false;
  #stuck: string | null = null;
  #killed: string | null = null;
  rss_bytes = 0;
  threads = 0;
  was_ready = false;
  /** When it last took a run, as performance.now(). */
  used_at = performance.now();
  /** It takes no more runs: it has grown too large or has ended. */
  leaving = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#child = spawnRunner(options.file);
    this.#channel = this.#child.stdio[3] as Duplex;
    this.#ready.promise.catch(() => {});
    this.#channel.on("data", (chunk: Buffer) => this.#receive(chunk));
    // A broken channel is followed by the end of the process, which settles everything.
    this.#channel.on("error", () => this.#kill("its channel broke", null));
    this.#child.on("error", (error) => this.#end(`which could not be started: ${error.message}`));
    // Not "exit": what it sent before its end is still being read then.
    this.#child.on("close", (code, signal) => this.#closed(code, signal));
    for (const stream of [this.#child.stdout, this.#child.stderr]) this.#capture(stream);
    this.#watching = setInterval(() => this.#watch(), WATCH_MS);
    this.#send({ type: "setup", setup: options.setup, token: this.#token });
  }

  /** Rejects where it ends or refuses before it takes runs. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): number {
    return this.#runs.size;
  }

  run(spec: FlowSpec, job: Job): Promise<Ending> {
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.used_at = performance.now();
    this.#runs.set(job.id, { key: spec.key, settle: resolve, watch: null });
    if (!this.#specs.has(spec.key)) {
      this.#specs.add(spec.key);
      this.#send({ type: "spec", spec });
    }
    this.#send({ type: "run", key: spec.key, job });
    return promise;
  }

  inspect(spec: FlowSpec): Promise<Inspection> {
    const { promise, resolve } = Promise.withResolvers<Inspection>();
    this.#inspections.set((this.#last += 1), resolve);
    this.#send({ type: "inspect", number: this.#last, spec });
    return promise;
  }

  /** False where it does not have this run. */
  abort(id: string, reason: string): boolean {
    const run = this.#runs.get(id);
    if (run === undefined) return false;
    if (run.watch !== null) return true;
    this.#send({ type: "abort", key: run.key, id, reason });
    const limit = this.#options.setup.cancel_grace_ms + TERMINATION_MS;
    run.watch = setTimeout(() => this.#kill(`a thread of "${run.key}" did not end`, run.key), limit);
    return true;
  }

  retire(key: string): void {
    if (this.#specs.delete(key)) this.#send({ type: "retire", key });
  }

  /** Ends it; what still runs in it is lost. */
  async close(): Promise<void> {
    this.#closing = true;
    this.leaving = true;
    this.#child.kill("SIGKILL");
    await this.#gone.promise;
  }

  #send(message: ToRunner): void {
    if (this.#outbox.push(message) === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const batch = this.#outbox;
    this.#outbox = [];
    if (!this.#channel.writable) return;
    for (const frame of encodeFrames("", batch)) this.#channel.write(frame);
  }

  #receive(chunk: Buffer): void {
    this.#silent = 0;
    if (this.#killed !== null) return;
    try {
      for (const message of this.#frames.push(chunk)) {
        if (isFromRunner(message)) this.#take(message);
        else this.#options.log.warn({ pid: this.pid }, "Dropped a message of a runner without a known shape");
      }
    } catch (error) {
      this.#kill(`its channel was damaged: ${String(error)}`, null);
    }
  }

  #take(message: FromRunner): void {
    if (message.type === "ended") return this.#settle(message.id, message.ending);
    if (message.type === "log") {
      if (this.#runs.has(message.id)) this.#options.onLog(message.id, message.lines);
    } else if (message.type === "operation") void this.#operate(message.number, message.request);
    else if (message.type === "inspected") this.#inspected(message.number, message.inspection);
    else if (message.type === "beat") this.#measure(message.rss_bytes, message.threads);
    else if (message.type === "stuck") this.#kill(`a thread of "${message.key}" did not end`, message.key);
    else if (message.type === "ready") this.#open();
    else this.#refuse(message.message);
  }

  #refuse(message: string): void {
    this.#ready.reject(new Error(message));
    this.#kill(message, null);
  }

  #open(): void {
    this.was_ready = true;
    this.#ready.resolve();
  }

  #settle(id: string, ending: Ending): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    this.#runs.delete(id);
    if (run.watch !== null) clearTimeout(run.watch);
    run.settle(ending);
  }

  #inspected(number: number, inspection: Inspection): void {
    this.#inspections.get(number)?.(inspection);
    this.#inspections.delete(number);
  }

  async #operate(number: number, request: OperationRequest): Promise<void> {
    if (!this.#runs.has(request.id)) return;
    const answer = await this.#options.onOperation(request).catch(
      (error: unknown): OperationAnswer => ({ ok: false, message: String(error) }),
    );
    this.#send({ type: "answer", number, answer });
  }

  #watch(): void {
    const busy = this.#runs.size + this.#inspections.size > 0;
    const measured = busy ? residentBytes(this.pid) : null;
    if (measured !== null) this.#measure(measured, this.threads);
    this.#silent = busy ? this.#silent + WATCH_MS : 0;
    if (this.#silent >= SILENCE_MS) this.#kill(`it was silent for ${SILENCE_MS / 1000} s`, null);
  }

  #measure(rss_bytes: number, threads: number): void {
    this.rss_bytes = rss_bytes;
    this.threads = threads;
    const { memory_bytes } = this.#options;
    if (rss_bytes > memory_bytes) this.leaving = true;
    if (rss_bytes > memory_bytes * 1.25) this.#kill(`it used ${Math.round(rss_bytes / 2 ** 20)} MB of memory`, null);
  }

  /** @param key The version that is known to be the cause, if any. */
  #kill(why: string, key: string | null): void {
    if (this.#killed !== null) return;
    this.#killed = why;
    this.#stuck = key;
    this.leaving = true;
    this.#child.kill("SIGKILL");
  }

  #closed(code: number | null, signal: string | null): void {
    this.#end(this.#killed === null ? howItEnded(code, signal) : `which was ended because ${this.#killed}`);
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#watching);
    this.leaving = true;
    this.#ready.reject(new Error(`A runner was lost, ${how}`));
    const keys = this.#stuck === null ? [...new Set([...this.#runs.values()].map((run) => run.key))] : [this.#stuck];
    const status_message = `Lost with its runner, ${how}`;
    const ending: Ending = { status: "ENDED_ERROR", status_message, output_value: null, response: null, aborted: false };
    for (const [id, run] of [...this.#runs]) this.#settle(id, run.watch === null ? ending : { ...ending, aborted: true });
    for (const number of [...this.#inspections.keys()]) {
      this.#inspected(number, { kind: "broken", message: status_message, stack: null });
    }
    this.#gone.resolve();
    if (!this.#closing) this.#options.onLost(this, keys, how);
  }

  #capture(stream: Readable | null): void {
    let room = 100;
    stream?.setEncoding("utf8").on("data", (text: string) => {
      if (room-- > 0) this.#options.log.warn({ pid: this.pid, text: text.slice(0, 2000) }, "A runner printed");
    });
  }
}

function howItEnded(code: number | null, signal: string | null): string {
  if (signal === "SIGABRT" || code === 134) return "which ended with SIGABRT: most likely its memory ran out";
  if (signal === "SIGKILL") return "which was killed from outside: most likely the system ran out of memory";
  return signal === null ? `which ended with exit code ${code}` : `which ended with ${signal}`;
}
