import { now } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import {
  failed,
  type Ending,
  type FlowSpec,
  type Inspection,
  type Job,
  type LogLine,
  type OperationAnswer,
  type OperationRequest,
  type RunnerSetup,
} from "./protocol.ts";
import { lostEnding } from "./lost.ts";
import { DEATHS, Quarantine } from "./quarantine.ts";
import { Runner, type RunnerDeath } from "./runner.ts";

export interface RunnersOptions {
  /** Absolute path of the runner's entry file. */
  readonly runner: string;
  /** Absolute path of the thread entry. */
  readonly thread: string;
  /** Absolute path of the module that `import "flowhook"` means. */
  readonly author: string;
  /** Folders that every thread must be able to read. */
  readonly readable: readonly string[];
  /** Threads of one flow version at most. */
  readonly flow_threads: number;
  readonly warm_threads: number;
  /** Milliseconds between the abort signal and the termination of the thread. */
  readonly cancel_grace_ms: number;
  readonly runner_memory_mb: number;
  readonly max_output_bytes: number;
  /** Largest input_value that a flow may give to a child. */
  readonly max_input_bytes: number;
  readonly max_log_lines: number;
  /** Longest import of a flow by an inspection; 10 s. */
  readonly inspect_ms?: number;
  /** Longest silence of a runner that has something to do; 10 s. */
  readonly silence_ms?: number;
  /** How long after the latest run or inspection a warm spare is kept; 30 s. */
  readonly spare_ms?: number;
  readonly log: Log;
  onLog(id: string, lines: readonly LogLine[]): void;
  onOperation(request: OperationRequest): Promise<OperationAnswer>;
  /**
   * Before a runner starts: whether its program was changed, and is put right again.
   * @throws Error where it cannot be put right
   */
  verifyProgram(): boolean;
  /**
   * Before a runner has its first run of a version.
   * @throws Error where the version's files were changed
   */
  verify(spec: FlowSpec): void;
  /** A flow version took runners down three times in ten minutes. */
  onBroken(key: string, message: string): void;
}

export interface RunnerStatus {
  readonly pid: number;
  readonly rss_bytes: number;
  readonly threads: number;
  readonly running: number;
}

/** All runner processes behind one door. Nothing here rejects: a failure is a value. */
export interface Runners {
  /** Imports in a fresh thread without grants, bounded in time and memory. */
  inspect(spec: FlowSpec): Promise<Inspection>;
  /**
   * Settles when the thread is free again.
   *
   * @param is_ahead all threads of the flow are busy: where none is free soon, it is returned and
   *   has not begun
   */
  run(spec: FlowSpec, job: Job, is_ahead: boolean): Promise<Ending | "returned">;
  /** The signal now, the thread's end after the grace, the runner's where the thread stays. */
  abort(id: string, reason: string): void;
  /** This version is no longer used: its idle threads go. */
  retire(key: string): void;
  status(): { runners: RunnerStatus[]; restarts: number };
  [Symbol.asyncDispose](): Promise<void>;
}

/** A runner of one version is let go after so long without a run. */
const OWN_IDLE_MS = 30_000;
/** Suspects without a runner of their own share one. */
const SUSPECTS = "suspects";
const TIDY_MS = 1_000;
const SPARE_MS = 30_000;

/**
 * Starts the first runner and a warm spare.
 * @throws {Error} where a runner cannot be started or cannot restrict its threads
 */
export async function openRunners(options: RunnersOptions): Promise<Runners> {
  const fleet = new Fleet(options);
  try {
    await fleet.ready();
  } catch (error) {
    await fleet[Symbol.asyncDispose]();
    throw error;
  }
  return fleet;
}

class Fleet implements Runners {
  readonly #options: RunnersOptions;
  readonly #setup: RunnerSetup;
  readonly #quarantine = new Quarantine();
  readonly #all = new Set<Runner>();
  /** Runners of one version each. */
  readonly #own = new Map<string, Runner>();
  readonly #tidying: NodeJS.Timeout;
  #shared: Runner | null = null;
  #spare: Runner | null = null;
  #inspecting = 0;
  /** Settles when nothing is inspected alone. */
  #alone: Promise<unknown> = Promise.resolve();
  /** When something was last run or inspected, as performance.now(). */
  #used_at = performance.now();
  #restarts = 0;
  #closed = false;

  constructor(options: RunnersOptions) {
    this.#options = options;
    const { thread, author, readable, flow_threads, warm_threads } = options;
    const { cancel_grace_ms, max_output_bytes, max_input_bytes, max_log_lines } = options;
    const limits = {
      flow_threads,
      warm_threads,
      cancel_grace_ms,
      max_output_bytes,
      max_input_bytes,
      max_log_lines,
      inspect_ms: options.inspect_ms ?? 10_000,
    };
    this.#setup = { thread, author, readable, ...limits };
    this.#tidying = setInterval(() => this.#tidy(), TIDY_MS).unref();
  }

  async ready(): Promise<void> {
    await this.#take().ready;
    this.#prepare();
  }

  async run(spec: FlowSpec, job: Job, is_ahead: boolean): Promise<Ending | "returned"> {
    try {
      return await this.#run(spec, job, is_ahead);
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error));
    }
  }

  async #run(spec: FlowSpec, job: Job, is_ahead: boolean): Promise<Ending | "returned"> {
    for (;;) {
      if (this.#closed) return lostEnding("when the service was closed");
      const place = this.#quarantine.placeOf(spec.key, now());
      const runner =
        place === "everybody"
          ? this.#take()
          : this.#takeOwn(place === "alone" ? spec.key : SUSPECTS);
      if (!runner.knows(spec.key)) this.#options.verify(spec);
      const ending = await runner.run(spec, job, is_ahead);
      this.#used_at = performance.now();
      this.#prepare();
      // The runner was gone before the job left, so that it runs for the first time.
      if (ending !== "unsent") return ending;
    }
  }

  /** In the spare, so that an import that takes its runner down costs no execution. */
  async inspect(spec: FlowSpec): Promise<Inspection> {
    this.#inspecting += 1;
    try {
      if (this.#closed) return broken("The service was closed");
      const found = await this.#takeForInspections().inspect(spec);
      // What was imported beside it may have been the cause.
      return found.kind === "lost" ? await this.#inspectAlone(spec) : found;
    } catch (error) {
      return broken(error instanceof Error ? error.message : String(error));
    } finally {
      this.#used_at = performance.now();
      this.#inspecting -= 1;
    }
  }

  /** One after the other, each in a runner that nobody else is in. */
  #inspectAlone(spec: FlowSpec): Promise<Inspection> {
    const inspection = this.#alone.then(async () => {
      const runner = this.#start();
      const found = await runner.inspect(spec);
      runner.leaving = true;
      return found.kind === "lost" ? broken(`Lost with its runner, ${found.how}`) : found;
    });
    this.#alone = inspection.catch(() => {});
    return inspection;
  }

  abort(id: string, reason: string): void {
    for (const runner of this.#all) if (runner.abort(id, reason)) return;
  }

  retire(key: string): void {
    for (const runner of this.#all) runner.retire(key);
    this.#quarantine.clear(key);
  }

  status(): { runners: RunnerStatus[]; restarts: number } {
    const runners = [...this.#all].map(({ pid, rss_bytes, threads, running }) => ({
      pid,
      rss_bytes,
      threads,
      running,
    }));
    return { runners, restarts: this.#restarts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#tidying);
    await Promise.all([...this.#all].map((runner) => runner.close()));
  }

  /** The runner that takes the next run of a version without a runner of its own. */
  #take(): Runner {
    if (this.#shared === null || this.#shared.leaving) {
      this.#shared = this.#takeSpare();
    }
    return this.#shared;
  }

  #takeOwn(key: string): Runner {
    const own = this.#own.get(key);
    if (own !== undefined && !own.leaving) return own;
    // One in which others were inspected would not have it alone.
    const taken = this.#spare?.is_fresh === true ? this.#takeSpare() : this.#start();
    this.#own.set(key, taken);
    return taken;
  }

  #takeForInspections(): Runner {
    if (this.#spare === null || this.#spare.leaving) this.#spare = this.#start();
    return this.#spare;
  }

  #takeSpare(): Runner {
    const taken = this.#spare === null || this.#spare.leaving ? this.#start() : this.#spare;
    // The next one starts when the first run has ended: until then that one has the cores.
    this.#spare = null;
    return taken;
  }

  /** The spare is there, or is started. */
  #prepare(): void {
    if (!this.#closed) this.#attempt(() => this.#takeForInspections());
  }

  /** Nobody waits for it: it is tried again with the next tidying. */
  #attempt(act: () => unknown): void {
    try {
      act();
    } catch (error) {
      this.#options.log.error({ err: error }, "Cannot start a runner");
    }
  }

  /** @throws Error where its program was changed and cannot be put right */
  #start(): Runner {
    const { runner: file, runner_memory_mb, log, onLog, onOperation } = this.#options;
    if (this.#options.verifyProgram())
      log.warn("Somebody had changed the program's files in DATA_DIR: they are written again");
    const onDoomed = (runner: Runner, death: RunnerDeath): void => {
      log.error({ pid: runner.pid, ...toFacts(death) }, "A runner takes no more runs");
      this.#blame(death);
    };
    const onLost = (runner: Runner, death: RunnerDeath): void => this.#lose(runner, death);
    const memory_bytes = runner_memory_mb * 2 ** 20;
    const silence_ms = this.#options.silence_ms ?? 10_000;
    const runner = new Runner({
      file,
      setup: this.#setup,
      memory_bytes,
      silence_ms,
      log,
      onLog,
      onOperation,
      onDoomed,
      onLost,
    });
    this.#all.add(runner);
    return runner;
  }

  #lose(runner: Runner, death: RunnerDeath): void {
    this.#all.delete(runner);
    this.#restarts += 1;
    if (runner === this.#spare) this.#spare = null;
    this.#options.log.error({ pid: runner.pid, ...toFacts(death) }, "A runner was lost");
    this.#blame(death);
    // One that ends before it is ready would end again: its successor waits for the next tidying.
    if (runner === this.#shared) this.#shared = null;
    if (runner.was_ready) this.#prepare();
  }

  /** The versions that may have been the cause run apart from now on. */
  #blame({ keys, is_alone, how }: RunnerDeath): void {
    for (const key of keys) {
      if (!this.#quarantine.note(key, now(), is_alone)) continue;
      const message = `Took its runner down ${DEATHS} times in ten minutes; the last one, ${how}`;
      this.#options.onBroken(key, message);
    }
  }

  /** What runs nothing loses nothing: a spare is kept while the service is used. */
  #keepSpare(): void {
    const spare_ms = this.#options.spare_ms ?? SPARE_MS;
    const is_used = this.#inspecting > 0 || performance.now() - this.#used_at < spare_ms;
    if (is_used) this.#prepare();
    else if (this.#spare !== null) {
      this.#spare.leaving = true;
      this.#spare = null;
    }
  }

  /** Replaces who is missing, and lets go who is no longer needed. */
  #tidy(): void {
    this.#attempt(() => this.#take());
    this.#keepSpare();
    for (const [key, runner] of this.#own) {
      if (!runner.leaving && performance.now() - runner.used_at < OWN_IDLE_MS) continue;
      if (runner.running === 0) runner.leaving = true;
      this.#own.delete(key);
    }
    for (const runner of this.#all) {
      if (!runner.leaving || !runner.is_idle) continue;
      this.#all.delete(runner);
      runner.close().catch((error: unknown) => {
        this.#options.log.error({ pid: runner.pid, err: error }, "Cannot end a runner");
      });
    }
  }
}

function broken(message: string): Inspection {
  return { kind: "broken", message, stack: null };
}

/** For the log. */
function toFacts({ keys: versions, how }: RunnerDeath) {
  return { versions, how };
}
