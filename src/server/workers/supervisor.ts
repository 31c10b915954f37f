import { now } from "../../shared/clock.ts";
import type { FlowSpec, Inspection, RunnerSetup } from "../../shared/wire/protocol.ts";
import { LOST } from "./crashed.ts";
import { LastingFault } from "./lasting-fault.ts";
import { DEATHS, Quarantine } from "./quarantine.ts";
import { Runner, type RunnerDeath } from "./runner.ts";
import type { RunnersOptions, RunnerStatus, VersionKeeper } from "./runners.ts";
import { ThreadListener } from "./thread-listener.ts";
import type { Worker, WorkerEvents } from "./worker.ts";

/** A runner of one version is let go after so long without a run. */
const OWN_IDLE_MS = 30_000;
/** Suspects without a runner of their own share one. */
const QUARANTINED = "quarantined";
const REAP_MS = 1_000;
const SPARE_MS = 30_000;

/**
 * Starts the first runner, which can be given work at once.
 * @throws {Error} where its program was changed and cannot be put right
 */
export async function startRunners(options: RunnersOptions): Promise<Supervisor> {
  const listener = await listen(options);
  try {
    return new Supervisor(options, listener);
  } catch (error) {
    listener?.close();
    throw error;
  }
}

/** Without a socket the service runs all the same, and slower. */
async function listen({ sockets, log }: RunnersOptions): Promise<ThreadListener | null> {
  // Deno's permissions are the process's: a thread that may connect to the server may connect anywhere.
  if (sockets === null || "Deno" in globalThis) return null;
  try {
    return await ThreadListener.open(sockets);
  } catch (error) {
    log.warn(
      { err: error },
      "Threads cannot connect to the server: their runners forward for them",
    );
    return null;
  }
}

/** All runner processes behind one door. */
export class Supervisor {
  readonly #options: RunnersOptions;
  readonly #setup: RunnerSetup;
  readonly #listener: ThreadListener | null;
  readonly #quarantine = new Quarantine();
  /** Of starts that nobody waits for: they are tried again with the next tidying. */
  readonly #starting: LastingFault;
  readonly #all = new Set<Runner>();
  /** Runners of one version each. */
  readonly #own = new Map<string, Runner>();
  readonly #reaping: NodeJS.Timeout;
  #versions: VersionKeeper | null = null;
  readonly #first: Promise<void>;
  #shared: Runner | null = null;
  #spare: Runner | null = null;
  #inspecting = 0;
  /** Settles when nothing is inspected alone. */
  #alone: Promise<unknown> = Promise.resolve();
  /** When something was last inspected, as performance.now(). */
  #usedAt = -Infinity;
  #restarts = 0;
  #closed = false;

  constructor(options: RunnersOptions, listener: ThreadListener | null) {
    this.#options = options;
    this.#listener = listener;
    this.#starting = new LastingFault(
      options.log,
      "Cannot start a runner; tried again each second",
    );
    const { thread, author, readable, limits, inspect_ms = 10_000 } = options;
    const use_system_ca = options.environment["NODE_USE_SYSTEM_CA"] === "1";
    this.#setup = { thread, author, readable, limits, inspect_ms, use_system_ca };
    this.#first = this.#take().ready;
    this.#reaping = setInterval(() => this.#reap(), REAP_MS).unref();
  }

  /** Rejects where the first runner ends before it takes runs, or cannot restrict its threads. */
  ready(): Promise<void> {
    return this.#first;
  }

  /** Before the first thread is started: whom to ask for versions. */
  connect(versions: VersionKeeper): void {
    this.#versions = versions;
  }

  get #keeper(): VersionKeeper {
    if (this.#versions === null) throw new Error("Nobody keeps the versions of flows");
    return this.#versions;
  }

  /**
   * Starts a thread.
   * @throws {Error} where the version's or the program's files were changed, or a runner cannot be
   *   started
   */
  startWorker(spec: FlowSpec, events: WorkerEvents): Worker {
    if (this.#closed) throw new Error("The service was closed");
    const place = this.#quarantine.placeOf(spec.key, now());
    const runner =
      place === "everybody"
        ? this.#take()
        : this.#takeOwn(place === "alone" ? spec.key : QUARANTINED);
    if (!runner.knows(spec.key)) this.#keeper.verify(spec);
    const { debug } = this.#options;
    const given = debug?.flow === spec.flow ? { ...spec, debug_port: debug.port } : spec;
    return runner.start(given, events);
  }

  /**
   * Imports in a fresh thread without grants, bounded in time and memory. Never rejects. In the
   * spare, so that an import that takes its runner down costs no execution.
   */
  async inspect(spec: FlowSpec): Promise<Inspection> {
    this.#inspecting += 1;
    try {
      // Not before it is known that threads can be restricted.
      await this.#first;
      if (this.#closed) return broken("The service was closed");
      const found = await this.#takeForInspections().inspect(spec);
      // What was imported beside it may have been the cause.
      return found.kind === "crashed" ? await this.#inspectAlone(spec) : found;
    } catch (error) {
      return broken(error instanceof Error ? error.message : String(error));
    } finally {
      this.#usedAt = performance.now();
      this.#inspecting -= 1;
    }
  }

  /** One after the other, each in a runner that nobody else is in. */
  #inspectAlone(spec: FlowSpec): Promise<Inspection> {
    const inspection = this.#alone.then(async () => {
      const runner = this.#start();
      const found = await runner.inspect(spec);
      runner.leave();
      return found.kind === "crashed" ? broken(`${LOST}${found.how}`) : found;
    });
    this.#alone = inspection.catch(() => {});
    return inspection;
  }

  /** This version is no longer used: its idle threads go. */
  retire(key: string): void {
    for (const runner of this.#all) runner.retire(key);
    this.#quarantine.clear(key);
  }

  /** What threads have loaded is out of date: idle ones go, the others once they have no run. */
  retireAll(): void {
    for (const runner of this.#all) runner.retireAll();
  }

  status(): { runners: RunnerStatus[]; restarts: number } {
    return { runners: [...this.#all].map(({ status }) => status), restarts: this.#restarts };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearInterval(this.#reaping);
    await Promise.all([...this.#all].map((runner) => runner.close()));
    this.#listener?.close();
  }

  /** The runner that takes the next run of a version without a runner of its own. */
  #take(): Runner {
    if (this.#shared === null || this.#shared.isLeaving) this.#shared = this.#takeSpare();
    return this.#shared;
  }

  #takeOwn(key: string): Runner {
    const own = this.#own.get(key);
    if (own !== undefined && !own.isLeaving) return own;
    // One in which others were inspected would not have it alone.
    const taken = this.#spare?.isFresh === true ? this.#takeSpare() : this.#start();
    this.#own.set(key, taken);
    return taken;
  }

  #takeForInspections(): Runner {
    if (this.#spare === null || this.#spare.isLeaving) this.#spare = this.#start();
    return this.#spare;
  }

  #takeSpare(): Runner {
    const taken = this.#spare === null || this.#spare.isLeaving ? this.#start() : this.#spare;
    // The next one starts with the tidying: until then what runs in this one has the cores.
    this.#spare = null;
    return taken;
  }

  /** The spare is there, or is started. */
  #prepare(): boolean {
    return this.#closed || this.#starting.attempt(() => this.#takeForInspections());
  }

  /** @throws Error where its program was changed and cannot be put right, or nobody would end it */
  #start(): Runner {
    if (this.#closed) throw new Error("The service was closed");
    this.#verifyProgram();
    const runner = new Runner({
      ...this.#options,
      setup: this.#setup,
      listener: this.#listener,
      onDoomed: ({ pid }, death) => {
        this.#options.log.error({ pid, ...toFacts(death) }, "A runner takes no more runs");
        this.#blame(death);
      },
      onCrashed: (crashed, death) => this.#lose(crashed, death),
    });
    this.#all.add(runner);
    return runner;
  }

  /** The folder that the others stand in is gone where it was replaced: no thread starts in it. */
  #verifyProgram(): void {
    if (!this.#options.verifyProgram()) return;
    for (const runner of this.#all) runner.leave();
    const message = "Somebody had changed the program's files in DATA_DIR: they are written again";
    this.#options.log.warn(message);
  }

  #lose(runner: Runner, death: RunnerDeath): void {
    this.#all.delete(runner);
    this.#restarts += 1;
    if (runner === this.#spare) this.#spare = null;
    this.#options.log.error({ pid: runner.pid, ...toFacts(death) }, "A runner was lost");
    this.#blame(death);
    // One that ends before it is ready would end again: its successor waits for the next tidying.
    if (runner === this.#shared) this.#shared = null;
    if (runner.wasReady) this.#prepare();
  }

  /** The versions that may have been the cause run apart from now on. */
  #blame({ keys, isAlone, how }: RunnerDeath): void {
    for (const key of keys) {
      for (const runner of this.#all) runner.retire(key);
      if (!this.#quarantine.note(key, now(), isAlone)) continue;
      const message = `Took its runner down ${DEATHS} times in ten minutes; the last one, ${how}`;
      this.#keeper.markBroken(key, message);
    }
  }

  #users(): Runner[] {
    return [...this.#all].filter((runner) => runner !== this.#spare);
  }

  /** What runs nothing loses nothing: a spare comes with the first use, and is kept while there is some. */
  #keepSpare(): boolean {
    const spareMs = this.#options.spareMs ?? SPARE_MS;
    const usedAt = Math.max(this.#usedAt, ...this.#users().map((runner) => runner.usedAt));
    const isBusy = this.#inspecting > 0 || this.#users().some((runner) => !runner.isIdle);
    const isUsed = isBusy || performance.now() - usedAt < spareMs;
    if (isUsed) return this.#prepare();
    this.#spare?.leave();
    this.#spare = null;
    return true;
  }

  /** Replaces who is missing, and lets go who is no longer needed. */
  #reap(): void {
    const isWhole = this.#starting.attempt(() => {
      this.#verifyProgram();
      return this.#take();
    });
    if (this.#keepSpare() && isWhole) this.#starting.isOver();
    for (const [key, runner] of this.#own) {
      const isUsed = !runner.isIdle || performance.now() - runner.usedAt < OWN_IDLE_MS;
      if (isUsed && !runner.isLeaving) continue;
      runner.leave();
      this.#own.delete(key);
    }
    for (const runner of this.#all) {
      if (!runner.isLeaving || !runner.isIdle) continue;
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
