import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Log } from "../lib/log.ts";
import {
  failed,
  type Ending,
  type FlowSpec,
  type FromRunner,
  type Inspection,
  type Job,
  type LogLine,
  type OperationAnswer,
  type OperationRequest,
  type RunnerSetup,
  type ToRunner,
} from "./protocol.ts";
import { Channel, CHANNEL_FD } from "./channel.ts";
import { howItEnded, lostEnding } from "./lost.ts";
import { logPrinted } from "./printed.ts";
import { openSeal } from "./seal.ts";
import { isFromRunner } from "./shapes.ts";
import { spawnRunner } from "./spawn.ts";
import { Vitals } from "./vitals.ts";

/** After the grace and the termination; the thread must have ended by then. */
const TERMINATION_MS = 2_000;

export interface RunnerOptions {
  readonly file: string;
  readonly setup: RunnerSetup;
  /** Resident memory above which it takes no more runs; a quarter more ends it. */
  readonly memory_bytes: number;
  /** Longest silence while it has something to do. */
  readonly silence_ms: number;
  readonly log: Log;
  onLog(id: string, lines: readonly LogLine[]): void;
  onOperation(request: OperationRequest): Promise<OperationAnswer>;
  /** A thread of it will not end: it takes no more runs, and is lost once the others' have ended. */
  onDoomed(runner: Runner, death: RunnerDeath): void;
  /** It has ended, unless by `close`. */
  onLost(runner: Runner, death: RunnerDeath): void;
}

export interface RunnerDeath {
  /** The versions that may have been the cause. */
  readonly keys: readonly string[];
  /** No other version has ever been in it. */
  readonly is_alone: boolean;
  /** Completes "which ". */
  readonly how: string;
}

/** Native calls that were left behind are those of who has run so recently; milliseconds. */
const RECENT_MS = 60_000;

/** Neither of the two others has begun. */
type Settled = Ending | "returned" | "unsent";

/** An inspection that ended with its runner, for whatever reason. */
export interface LostInspection {
  readonly kind: "lost";
  readonly how: string;
}

interface Run {
  readonly key: string;
  settle(ending: Settled): void;
  watch: NodeJS.Timeout | null;
  /** It never reached the process, which was gone already. */
  unsent: boolean;
}

/** A runner process as the server sees it. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #child: ChildProcess;
  readonly #channel: Channel<ToRunner>;
  readonly #runs = new Map<string, Run>();
  readonly #inspections = new Map<number, (inspection: Inspection | LostInspection) => void>();
  readonly #specs = new Set<string>();
  /** The versions that it has run or inspected, and when it last did, as performance.now(). */
  readonly #used = new Map<string, number>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #vitals: Vitals;
  #last = 0;
  #closing = false;
  #ended = false;
  /** The versions with threads that do not end, though nothing else holds them. */
  readonly #stuck = new Set<string>();
  #killed: string | null = null;
  threads = 0;
  was_ready = false;
  /** When it last took a run, as performance.now(). */
  used_at = performance.now();
  /** It takes no more runs: it has grown too large or has ended. */
  leaving = false;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#child = spawnRunner(options.file);
    const stream = this.#child.stdio[CHANNEL_FD] as Duplex;
    const token = randomBytes(16).toString("hex");
    this.#channel = new Channel(stream, {
      expected: token,
      seal: openSeal(),
      receive: (message) => this.#receive(message),
      onDamage: (why) => this.#kill(`its channel was damaged: ${why}`),
      onUnsent: (messages) => this.#markUnsent(messages as readonly ToRunner[]),
    });
    this.#ready.promise.catch(() => {});
    stream.on("error", () => this.#kill("its channel broke"));
    this.#child.on("error", (error) => this.#end(`which could not be started: ${error.message}`));
    this.#child.once("exit", () => {
      this.leaving = true;
    });
    // Not "exit": what it sent before its end is still being read then.
    this.#child.on("close", (code, signal) => this.#closed(code, signal));
    for (const stream of [this.#child.stdout, this.#child.stderr])
      logPrinted(stream, this.pid, options.log);
    this.#vitals = new Vitals({
      pid: this.pid,
      memory_bytes: options.memory_bytes,
      silence_ms: options.silence_ms,
      isBusy: () => !this.is_idle,
      onWeak: () => {
        this.leaving = true;
      },
      onFatal: (why) => this.#kill(why),
    });
    this.#channel.send({ type: "setup", setup: options.setup, token });
  }

  /** Rejects where it ends or refuses before it takes runs. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get rss_bytes(): number {
    return this.#vitals.rss_bytes;
  }

  get running(): number {
    return this.#runs.size;
  }

  /** Whether it neither runs nor inspects anything. */
  get is_idle(): boolean {
    return this.#runs.size + this.#inspections.size === 0;
  }

  /** Whether no version has been in it. */
  get is_fresh(): boolean {
    return this.#used.size === 0;
  }

  /** Whether it has run this version. */
  knows(key: string): boolean {
    return this.#specs.has(key);
  }

  /** Settles as "unsent" where the job never reached the process. */
  run(spec: FlowSpec, job: Job, is_ahead: boolean): Promise<Settled> {
    if (this.#ended) return Promise.resolve("unsent");
    const { promise, resolve } = Promise.withResolvers<Settled>();
    this.used_at = performance.now();
    this.#used.set(spec.key, this.used_at);
    this.#runs.set(job.id, { key: spec.key, settle: resolve, watch: null, unsent: false });
    if (!this.#specs.has(spec.key)) {
      this.#specs.add(spec.key);
      this.#channel.send({ type: "spec", spec });
    }
    this.#channel.send({ type: "run", key: spec.key, job, is_ahead });
    return promise;
  }

  inspect(spec: FlowSpec): Promise<Inspection | LostInspection> {
    if (this.#ended) return Promise.resolve({ kind: "lost", how: "which had ended" });
    const { promise, resolve } = Promise.withResolvers<Inspection | LostInspection>();
    this.#used.set(spec.key, performance.now());
    this.#inspections.set((this.#last += 1), resolve);
    this.#channel.send({ type: "inspect", number: this.#last, spec });
    return promise;
  }

  /** False where it does not have this run. */
  abort(id: string, reason: string): boolean {
    const run = this.#runs.get(id);
    if (run === undefined) return false;
    if (run.watch !== null) return true;
    this.#channel.send({ type: "abort", key: run.key, id, reason });
    const limit = this.#options.setup.cancel_grace_ms + TERMINATION_MS;
    run.watch = setTimeout(() => {
      this.#settle(id, { ...failed(reason), aborted: true });
      this.#doom(run.key);
    }, limit);
    return true;
  }

  retire(key: string): void {
    if (this.#specs.delete(key)) this.#channel.send({ type: "retire", key });
  }

  /** Ends it; what still runs in it is lost. */
  async close(): Promise<void> {
    this.#closing = true;
    this.leaving = true;
    this.#child.kill("SIGKILL");
    await this.#gone.promise;
  }

  #receive(message: unknown): void {
    this.#vitals.hear();
    if (this.#killed !== null) return;
    if (isFromRunner(message)) this.#take(message);
    else
      this.#options.log.warn(
        { pid: this.pid },
        "Dropped a message of a runner without a known shape",
      );
  }

  #take(message: FromRunner): void {
    if (message.type === "ended") return this.#settle(message.id, message.ending);
    if (message.type === "returned") return this.#settle(message.id, "returned");
    if (message.type === "log") {
      if (this.#runs.has(message.id)) this.#options.onLog(message.id, message.lines);
    } else if (message.type === "operation") this.#operate(message.number, message.request);
    else if (message.type === "inspected") this.#inspected(message.number, message.inspection);
    else if (message.type === "beat") this.#beat(message);
    else if (message.type === "stuck") this.#doom(message.key);
    else if (message.type === "ready") this.#open();
    else this.#refuse(message.message);
  }

  #refuse(message: string): void {
    this.#ready.reject(new Error(message));
    this.#kill(message);
  }

  #open(): void {
    this.was_ready = true;
    this.#ready.resolve();
  }

  #markUnsent(messages: readonly ToRunner[]): void {
    for (const message of messages) {
      const run = message.type === "run" ? this.#runs.get(message.job.id) : undefined;
      if (run !== undefined) run.unsent = true;
    }
  }

  #settle(id: string, ending: Settled): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    this.#runs.delete(id);
    this.#used.set(run.key, performance.now());
    if (run.watch !== null) clearTimeout(run.watch);
    run.settle(ending);
    this.#endDoomed();
  }

  #beat({ rss_bytes, threads, native_wait_ms }: FromRunner & { type: "beat" }): void {
    this.threads = threads;
    this.#vitals.measure(rss_bytes);
    this.#vitals.measureNative(native_wait_ms);
  }

  #inspected(number: number, inspection: Inspection | LostInspection): void {
    this.#inspections.get(number)?.(inspection);
    this.#inspections.delete(number);
    this.#endDoomed();
  }

  #operate(number: number, request: OperationRequest): void {
    const tell = (answer: OperationAnswer): void =>
      this.#channel.send({ type: "answer", number, answer });
    if (!this.#runs.has(request.id)) return tell({ ok: false, message: "The execution has ended" });
    this.#options
      .onOperation(request)
      .then(tell, (error: unknown) =>
        tell({ ok: false, message: error instanceof Error ? error.message : String(error) }),
      );
  }

  /** Who else runs in it is not to suffer for a version whose thread does not end. */
  #doom(key: string): void {
    if (this.#stuck.has(key) || !this.#used.has(key)) return;
    this.#stuck.add(key);
    this.leaving = true;
    this.#options.onDoomed(this, { keys: [key], is_alone: this.#used.size === 1, how: toHow(key) });
    this.#endDoomed();
  }

  #endDoomed(): void {
    const [key] = this.#stuck;
    if (key === undefined || !this.is_idle) return;
    this.#kill(`a thread of "${key}" did not end`);
  }

  #kill(why: string): void {
    if (this.#killed !== null) return;
    this.#killed = why;
    this.leaving = true;
    this.#child.kill("SIGKILL");
  }

  #closed(code: number | null, signal: string | null): void {
    // It may have ended by itself just before it was killed.
    const isKilled = this.#killed !== null && signal === "SIGKILL";
    this.#end(isKilled ? `which was ended because ${this.#killed}` : howItEnded(code, signal));
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#vitals.stop();
    this.leaving = true;
    this.#ready.reject(new Error(`A runner was lost, ${how}`));
    const death = { keys: this.#findCause(), is_alone: this.#used.size === 1, how };
    const ending = lostEnding(how);
    for (const [id, run] of this.#runs) {
      const told = run.unsent ? "unsent" : ending;
      this.#settle(id, run.watch === null ? told : { ...ending, aborted: true });
    }
    for (const number of this.#inspections.keys()) this.#inspected(number, { kind: "lost", how });
    this.#gone.resolve();
    if (!this.#closing) this.#options.onLost(this, death);
  }

  /** The versions that may have been the cause of its end. */
  #findCause(): string[] {
    if (this.#vitals.is_native_taken) {
      const since = performance.now() - RECENT_MS;
      return [...this.#used].filter(([, at]) => at > since).map(([key]) => key);
    }
    const begun = this.#runs.values().filter((run) => !run.unsent);
    return [...new Set(begun.map((run) => run.key))].filter((key) => !this.#stuck.has(key));
  }
}

function toHow(key: string): string {
  return `which has a thread of "${key}" that does not end`;
}
