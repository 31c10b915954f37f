import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import {
  failed,
  type FlowSpec,
  type FromRunner,
  type Inspection,
  type RunnerSetup,
  type ToRunner,
} from "../../shared/wire/protocol.ts";
import { Channel, CHANNEL_FD } from "../../shared/wire/channel.ts";
import { howItEnded, LOST } from "./crashed.ts";
import { logPrinted } from "./printed.ts";
import { openSeal } from "../../shared/wire/seal.ts";
import { isFromRunner } from "./shapes.ts";
import type { RunnersOptions, RunnerStatus } from "./runners.ts";
import { spawnRunner } from "./spawn.ts";
import { HELD, logStray } from "./stray-log.ts";
import { Watchdog } from "./watchdog.ts";
import { ThreadLine } from "./thread-line.ts";
import type { ThreadListener } from "./thread-listener.ts";
import { UsedVersions } from "./used-versions.ts";
import type { Worker, WorkerEvents } from "./worker.ts";

/**
 * A thread that has not ended so long after it was told to is held by a native call. Ticks are
 * counted: a server that was late itself reads what has come before the next one.
 */
const STUCK_TICKS = 4;
const TICK_MS = 500;

/** A process that has ended is known to have so long after its channel broke. */
const EXIT_MS = 200;

/** Hundredths of a core that native calls keep busy; with more, who runs nothing for so long is suspected. */
const MOST_NATIVE_LOAD = 20;
const QUIET_MS = 5_000;

/** Of who runs nothing, and whose event loop has had no rest in that time. */
const RESTLESS_MS = 2_000;

/** Longest silence while it has something to do, unless told. */
const SILENCE_MS = 10_000;

export interface RunnerOptions extends RunnersOptions {
  readonly setup: RunnerSetup;
  /** Where its threads connect to; null: it forwards what they are told and say. */
  readonly listener: ThreadListener | null;
  /** A thread of it will not end: it takes no more runs, and is lost once the others' have ended. */
  onDoomed(runner: Runner, death: RunnerDeath): void;
  /** It has ended, unless by `close`. */
  onCrashed(runner: Runner, death: RunnerDeath): void;
}

export interface RunnerDeath {
  /** The versions that may have been the cause. */
  readonly keys: readonly string[];
  /** No other version has ever been in it. */
  readonly isAlone: boolean;
  /** Completes "which ". */
  readonly how: string;
}

/** An inspection that ended with its runner, for whatever reason. */
export interface CrashedInspection {
  readonly kind: "crashed";
  readonly how: string;
}

/** A runner process as the server sees it. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #child: ChildProcess;
  readonly #channel: Channel<ToRunner>;
  /** To its threads, until they have ended. */
  readonly #lines = new Map<number, ThreadLine>();
  readonly #inspections = new Map<number, (inspection: Inspection | CrashedInspection) => void>();
  readonly #used = new UsedVersions();
  /** The versions that it has threads of, or had, and that have not been retired since. */
  readonly #known = new Set<string>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #watchdog: Watchdog;
  #last = 0;
  #closing = false;
  #ended = false;
  #killed: string | null = null;
  /** It takes no more runs: it has grown too large or has ended. */
  isLeaving = false;
  wasReady = false;
  /** When it last started a thread or had a run, as performance.now(). */
  usedAt = -Infinity;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#child = spawnRunner(options.runner, options.reach, options.environment);
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
    stream.on("error", () => this.#lose("its channel broke"));
    this.#child.on("error", (error) => this.#end(`which could not be started: ${error.message}`));
    this.#child.once("exit", () => this.leave());
    // Not "exit": what it sent before its end is still being read then, and what its threads sent.
    this.#child.on("close", (code, signal) =>
      this.#whenLinesClosed(() => this.#closed(code, signal)),
    );
    for (const stream of [this.#child.stdout, this.#child.stderr])
      logPrinted(stream, this.pid, options.log);
    this.#watchdog = new Watchdog({
      pid: this.pid,
      memoryBytes: options.runnerMemoryMb * 2 ** 20,
      silenceMs: options.silenceMs ?? SILENCE_MS,
      isBusy: () => !this.isIdle,
      onWeak: () => this.leave(),
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

  get status(): RunnerStatus {
    const { rss_bytes } = this.#watchdog;
    let running = 0;
    for (const { worker } of this.#lines.values()) running += worker.length;
    return { pid: this.pid, rss_bytes, threads: this.#lines.size, running };
  }

  /** Whether it neither runs nor inspects anything, nor starts to. */
  get isIdle(): boolean {
    if (this.#inspections.size > 0) return false;
    for (const { worker } of this.#lines.values())
      if (worker.isBusy || worker.isStarting) return false;
    return true;
  }

  /** Whether no version has been in it. */
  get isFresh(): boolean {
    return this.#used.size === 0;
  }

  /** Whether it has had a thread of this version. */
  knows(key: string): boolean {
    return this.#known.has(key);
  }

  /** Starts a thread. */
  start(spec: FlowSpec, events: WorkerEvents): Worker {
    const thread = (this.#last += 1);
    this.#known.add(spec.key);
    this.#use(spec.key);
    const line = new ThreadLine({
      thread,
      spec,
      events,
      limits: this.#options.setup.limits,
      listener: this.#options.listener,
      send: (message) => this.#channel.send(message),
      onStray: (execution, text) => logStray(this.#options, spec, { execution, text }),
      onError: (error) => this.#logError(spec, error),
      onHeld: () => this.#logHeld(spec),
      onRun: () => this.#use(spec.key),
      onEnd: () => this.#abandonIn(STUCK_TICKS, thread),
    });
    this.#lines.set(thread, line);
    return line.worker;
  }

  inspect(spec: FlowSpec): Promise<Inspection | CrashedInspection> {
    const { promise, resolve } = Promise.withResolvers<Inspection | CrashedInspection>();
    this.#used.use(spec.key, performance.now());
    this.#inspections.set((this.#last += 1), resolve);
    this.#channel.send({ type: "inspect", number: this.#last, spec });
    return promise;
  }

  /** It takes no more runs; its threads end when they have none. */
  leave(): void {
    this.isLeaving = true;
    this.retireAll();
  }

  /** Its threads of this version end when they have no run. */
  retire(key: string): void {
    this.#known.delete(key);
    for (const { worker } of this.#lines.values()) if (worker.spec.key === key) worker.leave();
  }

  /** Its threads end when they have no run, whatever their version. */
  retireAll(): void {
    for (const { worker } of this.#lines.values()) worker.leave();
  }

  /** Ends it; what still runs in it is lost. */
  async close(): Promise<void> {
    this.#closing = true;
    this.isLeaving = true;
    this.#child.kill("SIGKILL");
    await this.#gone.promise;
  }

  #logError({ flow, version }: FlowSpec, err: unknown): void {
    const what = "The service failed on a message of a flow's thread, and ended the thread";
    this.#options.log.error({ err, flow, version }, what);
  }

  #logHeld({ flow, version }: FlowSpec): void {
    this.#options.log.warn({ flow, version }, HELD);
  }

  #use(key: string): void {
    this.usedAt = performance.now();
    this.#used.use(key, this.usedAt);
  }

  #abandonIn(ticks: number, thread: number): void {
    if (ticks === 0) return this.#abandon(thread);
    if (this.#lines.has(thread))
      setTimeout(() => this.#abandonIn(ticks - 1, thread), TICK_MS).unref();
  }

  /** What a thread ran that does not end has failed, and its runner goes. */
  #abandon(thread: number): void {
    const line = this.#lines.get(thread);
    if (line === undefined) return;
    const { worker } = line;
    const { key } = worker.spec;
    this.#lines.delete(thread);
    line.drop();
    worker.exited(Infinity, failed(`A thread of "${key}" did not end`));
    this.#doom(key);
  }

  #receive(message: unknown): void {
    this.#watchdog.hear();
    if (this.#killed !== null) return;
    if (isFromRunner(message)) this.#take(message);
    else
      this.#options.log.warn(
        { pid: this.pid },
        "Dropped a message of a runner without a known shape",
      );
  }

  #take(message: FromRunner): void {
    switch (message.type) {
      case "inspected":
        return this.#inspected(message.number, message.inspection);
      case "heartbeat":
        return this.#heartbeat(message);
      case "ready":
        this.wasReady = true;
        return this.#ready.resolve();
      case "stuck":
        return this.leave();
      case "refused":
        this.#ready.reject(new Error(message.message));
        return this.#kill(message.message);
      case "started":
      case "told":
      case "recalled":
      case "exited": {
        const { thread } = message;
        return this.#lines.get(thread)?.receive(message, () => this.#lines.delete(thread));
      }
    }
  }

  #markUnsent(messages: readonly ToRunner[]): void {
    for (const message of messages)
      if (message.type === "forward")
        this.#lines.get(message.thread)?.unsent(message.runs, message.round);
  }

  #heartbeat(heartbeat: FromRunner & { type: "heartbeat" }): void {
    const { rss_bytes, native_wait_ms, native_load, restless } = heartbeat;
    this.#watchdog.measure(rss_bytes);
    this.#watchdog.measureNative(native_wait_ms);
    if (native_load > MOST_NATIVE_LOAD)
      for (const { worker } of this.#lines.values()) endQuiet(worker, QUIET_MS);
    for (const thread of restless) {
      const worker = this.#lines.get(thread)?.worker;
      // Who is looked at with a debugger may stand still.
      if (worker === undefined || worker.spec.debug_port !== undefined) continue;
      if (endQuiet(worker, RESTLESS_MS)) this.#logHeld(worker.spec);
    }
  }

  #inspected(number: number, inspection: Inspection | CrashedInspection): void {
    this.#inspections.get(number)?.(inspection);
    this.#inspections.delete(number);
    this.#endDoomed();
  }

  /** Who else runs in it is not to suffer for a version whose thread does not end. */
  #doom(key: string): void {
    if (!this.#used.addStuck(key)) return;
    this.leave();
    this.#options.onDoomed(this, { keys: [key], isAlone: this.#used.size === 1, how: toHow(key) });
    this.#endDoomed();
  }

  #endDoomed(): void {
    const key = this.#used.stuck;
    if (key === undefined || !this.isIdle) return;
    this.#kill(`a thread of "${key}" did not end`);
  }

  /** A channel breaks with its process too, whose end then says why. */
  #lose(why: string): void {
    this.leave();
    setTimeout(() => {
      const { exitCode, signalCode } = this.#child;
      if (exitCode === null && signalCode === null) this.#kill(why);
    }, EXIT_MS).unref();
  }

  #kill(why: string): void {
    if (this.#killed !== null) return;
    this.#killed = why;
    this.leave();
    this.#child.kill("SIGKILL");
  }

  #whenLinesClosed(act: () => void): void {
    const lines = [...this.#lines.values()];
    let open = lines.length;
    if (open === 0) act();
    for (const line of lines)
      line.whenClosed(() => {
        open -= 1;
        if (open === 0) act();
      });
  }

  #closed(code: number | null, signal: string | null): void {
    // It may have ended by itself just before it was killed.
    const isKilled = this.#killed !== null && signal === "SIGKILL";
    this.#end(isKilled ? `which was ended because ${this.#killed}` : howItEnded(code, signal));
  }

  #end(how: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#watchdog.stop();
    this.isLeaving = true;
    this.#ready.reject(new Error(`A runner was lost, ${how}`));
    const death = { keys: this.#findCause(), isAlone: this.#used.size === 1, how };
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    for (const number of this.#inspections.keys())
      this.#inspected(number, { kind: "crashed", how });
    this.#gone.resolve();
    // First it is known whom to blame: what waits is given to others at once.
    if (!this.#closing) this.#options.onCrashed(this, death);
    for (const { worker } of lines) worker.crashed(failed(`${LOST}${how}`), this.wasReady);
  }

  /** The versions that may have been the cause of its end. */
  #findCause(): string[] {
    if (this.#watchdog.isNativeTaken) return this.#used.findRecent(performance.now());
    const busy = [...this.#lines.values()].filter(({ worker }) => worker.hasBegun);
    return this.#used.withoutStuck(busy.map(({ worker }) => worker.spec.key));
  }
}

/** Who runs may be busy; who has returned so long ago may have left something behind. @returns whether */
function endQuiet(worker: Worker, quietMs: number): boolean {
  const { isBusy, isStarting, isEnding, since } = worker;
  if (isBusy || isStarting || isEnding || since >= performance.now() - quietMs) return false;
  worker.end();
  return true;
}

function toHow(key: string): string {
  return `which has a thread of "${key}" that does not end`;
}
