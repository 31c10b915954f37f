import assert from "node:assert/strict";
import { Scheduler, type SchedulerOptions } from "../../src/server/executions/scheduler.ts";
import { failed, type Ending, type FlowSpec, type Job } from "../../src/shared/wire/protocol.ts";
import type { Condition } from "../../src/shared/wire/thread-messages.ts";
import { Worker, type Run, type WorkerEvents } from "../../src/server/workers/worker.ts";

/** A made-up thread: it begins the first of what it was given, and ends it when it is told. */
export interface Thread {
  readonly flow: string;
  readonly worker: Worker;
  readonly aborted: string[];
  readonly isEnding: boolean;
  /** What its runs left behind keeps it from beginning others. */
  isHeld: boolean;
  /** @param ms that the run took, as the thread tells it */
  endCurrent(ms: number, condition?: Condition): void;
  exit(): void;
}

interface MachineOptions extends Partial<SchedulerOptions> {
  readonly timeoutMs?: number;
  /** Time of each run, as the threads tell it. */
  readonly ms?: number;
  readonly isolation?: FlowSpec["isolation"];
}

/** A run, and how it came about. */
interface Started {
  readonly run: Run;
  /** Flows of the runs that wait for it, and its own. */
  readonly flows: string;
  /** Runs that it waits for. */
  awaited: number;
}

/** What may happen to a machine. */
interface Act {
  readonly type: string;
  readonly flow?: string;
  readonly ms?: number;
  readonly at?: number;
}

/** A scheduler on made-up threads, with a made-up clock. */
export class Machine {
  readonly scheduler: Scheduler;
  readonly threads: MadeUpThread[] = [];
  /** Ids, in the order in which they began. */
  readonly begun: string[] = [];
  /** How many runs were given to a thread together. */
  readonly frames: number[] = [];
  readonly expired: string[] = [];
  readonly endings = new Map<string, Ending>();
  readonly #options: MachineOptions;
  readonly #runs: Run[] = [];
  readonly #started = new Map<string, Started>();
  /** Called once a run has ended that another one waits for. */
  readonly #answers = new Map<string, () => void>();
  #timers: { readonly at: number; readonly act: () => void }[] = [];
  /** Why threads cannot be started. */
  refuses: string | null = null;
  now = 0;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.scheduler = new Scheduler({
      workerThreads: 4,
      flowMaxConcurrent: 2,
      warmThreads: 100,
      cancelGraceMs: 100,
      clock: {
        now: () => this.now,
        after: (ms, act) => this.#setTimer(this.now + ms, act),
        soon: (act) => act(),
      },
      record: (runs, handOver) => setImmediate(() => handOver(runs)),
      startWorker: (spec, events) => this.#startThread(spec, events),
      ...options,
    });
    this.scheduler.open();
  }

  get started(): number {
    return this.#runs.length;
  }

  /** Ids of what stands in a queue. */
  get waiting(): string[] {
    return this.#runs.filter(({ link }) => link !== null).map(({ id }) => id);
  }

  specOf(flow: string): FlowSpec {
    const key = `${flow}@1`;
    const grants = { net: false, read: [], write: [], secrets: [] };
    const paths = { directory: "/", entry: "/flow.ts", plugins_dir: "/" };
    const isolation = this.#options.isolation ?? "flow";
    const own = { grants, memory_mb: 64, isolation, stripped: {}, input_members: null };
    return { key, flow, version: "1", ...paths, ...own };
  }

  /** Whether a run has nothing to do until another one has ended. */
  isWaiting(id: string): boolean {
    return (this.#started.get(id)?.awaited ?? 0) > 0;
  }

  /** As `start`: a run waits for it, unless that or one that waits for it is of the same flow. */
  startAwaited(by: string, id: string): void {
    const parent = this.#started.get(by);
    if (parent === undefined || parent.flows.includes(id.slice(0, 1))) return;
    parent.awaited += 1;
    const child = this.start(id, parent.flows);
    const isOver = this.scheduler.lend(parent.run, child);
    this.#answers.set(id, () => {
      parent.awaited -= 1;
      isOver();
    });
  }

  /**
   * Starts a run of the flow that its id begins with. It has to be prepared.
   *
   * @param flows of those that wait for it
   * @param turn of a run whose place it takes
   */
  start(id: string, flows = "", turn = Infinity): Run {
    const spec = this.specOf(id.slice(0, 1));
    const run = {
      id,
      flow: spec.flow,
      spec,
      timeoutMs: this.#options.timeoutMs ?? 1e9,
      job: { id } as Job,
      abortReason: null,
      link: null,
      turn,
      returned: () => {},
      log: () => {},
      operate: async () => ({ ok: false, message: "" }) as const,
      expired: () => {
        this.expired.push(id);
        if (this.scheduler.abort(run, "beyond its limit")) run.ended(failed("beyond its limit"));
      },
      ended: (ending: Ending) => {
        assert.ok(!this.endings.has(id), `${id} has ended before`);
        this.endings.set(id, ending);
        setImmediate(this.#answers.get(id) ?? (() => {}));
      },
    };
    this.#runs.push(run);
    this.#started.set(id, { run, flows: flows + spec.flow, awaited: 0 });
    this.scheduler.enqueue(run);
    return run;
  }

  /** Lets happen what happens without time: threads start, and what is prepared is handed over. */
  async turn(): Promise<void> {
    for (let turns = 0; turns < 5; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const thread of this.threads) thread.worker.started();
    }
  }

  async pass(ms: number): Promise<void> {
    const until = this.now + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.now = Math.max(this.now, next.at);
      next.act();
      await this.turn();
    }
    this.now = until;
  }

  /** Ends what runs, and what follows, until nothing is left. */
  async runAll(): Promise<void> {
    await this.turn();
    for (let left = 10_000; left > 0; left -= 1) {
      const busy = this.threads.find((thread) => thread.canEnd);
      if (busy === undefined) {
        for (const thread of this.threads) if (thread.isEnding) thread.exit();
        await this.turn();
        if (!this.threads.some((thread) => thread.canEnd)) return;
      } else {
        busy.endCurrent(this.#options.ms ?? 1);
        await this.turn();
      }
    }
    assert.fail("It never comes to an end");
  }

  async exit(at: number): Promise<void> {
    this.threads[at]?.exit();
    await this.turn();
  }

  async act({ type, flow, ms = 0, at = 0 }: Act): Promise<void> {
    const thread = this.threads.filter(({ isGone }) => !isGone)[at];
    const run = this.#runs[at];
    if (type === "start") this.start(`${flow}${this.started}`);
    else if (type === "await" && thread !== undefined)
      this.startAwaited(thread.worker.current?.id ?? "", `${flow}${this.started}`);
    else if (type === "pass") return this.pass(ms);
    else if (type === "exit") thread?.exit();
    else if (type === "lose") thread?.lose();
    else if (type === "cut" && thread !== undefined) thread.isCut = true;
    else if (type === "hold" && thread !== undefined) thread.isHeld = true;
    else if (type === "end") thread?.endCurrent(this.#options.ms ?? 1);
    else if (type === "fail") thread?.endCurrent(this.#options.ms ?? 1, "doubtful");
    else if (type === "stray") thread?.worker.stray();
    else if (run !== undefined && !this.endings.has(run.id) && this.scheduler.abort(run, "stop"))
      run.ended(failed("stop"));
    await this.turn();
  }

  /** What holds at any time. */
  check(): void {
    const { workerThreads = 4, flowMaxConcurrent = 2 } = this.#options;
    const all = this.threads.filter(({ isGone, worker }) => !isGone && worker.current !== null);
    // What a run waits for has its slot, and no other.
    const busy = all.filter(({ worker }) => worker.lender === null);
    for (const { worker } of all)
      if (worker.borrower !== null) assert.equal(worker.borrower.lender, worker);
    assert.ok(busy.length <= workerThreads, `${busy.length} threads are busy`);
    for (const flow of new Set(busy.map((thread) => thread.flow))) {
      // What is waited for may be more, where others of its flow wait.
      const own = busy.filter(({ worker }) => this.#flowsOf(worker) === flow).length;
      assert.ok(own <= flowMaxConcurrent, `${own} threads of ${flow} are busy`);
    }
    const { waiting } = this.scheduler.counts();
    // A thread that takes another's place may have to wait.
    const mayStart = this.#options.warmThreads === undefined || this.#options.warmThreads >= 100;
    if (waiting > 0 && mayStart) assert.ok(busy.length > 0, "somebody waits, and nobody runs");
  }

  /** Of those that wait for its current run, and of that. */
  #flowsOf({ current }: Worker): string {
    return this.#started.get(current?.id ?? "")?.flows ?? "";
  }

  #setTimer(at: number, act: () => void): () => void {
    const timer = { at, act };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  #startThread(spec: FlowSpec, events: WorkerEvents): Worker {
    if (this.refuses !== null) throw new Error(this.refuses);
    const thread = new MadeUpThread(this, spec, events);
    this.threads.push(thread);
    return thread.worker;
  }
}

/** It keeps to what runner and thread promise: the first of a round begins, a recall is answered. */
class MadeUpThread implements Thread {
  readonly flow: string;
  readonly worker: Worker;
  readonly aborted: string[] = [];
  readonly #machine: Machine;
  readonly #isolation: FlowSpec["isolation"];
  #jobs: Job[] = [];
  /** Of the runs given since the last recall. */
  #begun = 0;
  #isOpen = false;
  /** What it is given from now on does not reach it. */
  isCut = false;
  isHeld = false;
  /** Its first job has begun. */
  #isRunning = false;
  /** It has begun one since it started. */
  #isUsed = false;
  isEnding = false;
  isGone = false;

  constructor(machine: Machine, spec: FlowSpec, events: WorkerEvents) {
    this.flow = spec.flow;
    this.#machine = machine;
    this.#isolation = spec.isolation;
    const line = {
      run: (jobs: readonly Job[]) => this.#take(jobs),
      recall: (begun: number | null) =>
        begun === null ? this.#recall() : this.#recallUnbegun(begun),
      abort: (id: string) => void this.aborted.push(id),
      answer: () => {},
      end: () => {
        this.isEnding = true;
        this.#recall();
      },
    };
    this.worker = new Worker(spec, line, events, () => machine.now);
  }

  get canEnd(): boolean {
    const [job] = this.#jobs;
    return !this.isGone && job !== undefined && this.#isRunning && !this.#machine.isWaiting(job.id);
  }

  endCurrent(ms: number, condition: Condition = "sound"): void {
    const job = this.#jobs[0];
    if (this.isGone || job === undefined || !this.#isRunning) return;
    this.#jobs.shift();
    this.#isRunning = false;
    const isLast = this.#isolation === "execution";
    const ending: Ending = { ...failed(""), status: "ENDED_SUCCESS", status_message: null };
    if (!isLast && this.#jobs.length > 0) this.#begin();
    if (isLast) this.#jobs = [];
    this.worker.ended(job.id, ending, ms, isLast ? "spoilt" : condition);
  }

  exit(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.worker.exited(Math.max(1, this.#begun), failed("gone"));
  }

  /** Its runner is lost: nobody can tell what had begun. */
  lose(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.worker.crashed(failed("lost"), true);
  }

  #take(jobs: readonly Job[]): void {
    if (this.isGone) return;
    if (this.isCut) return this.#miss(jobs.length);
    this.#machine.frames.push(jobs.length);
    this.#jobs.push(...jobs);
    if (this.#jobs.length === jobs.length) this.#begin();
  }

  /** A line that is broken is noticed by what cannot be sent, and its thread is ended for it. */
  #miss(count: number): void {
    this.worker.unsent(count);
    setImmediate(() => this.worker.end());
  }

  #begin(): void {
    if (this.isHeld) return;
    this.#isRunning = true;
    this.#isUsed = true;
    this.#begun += 1;
    this.#isOpen = true;
    this.#machine.begun.push((this.#jobs[0] as Job).id);
  }

  /** What has begun stays, or may have; the answer comes later, as over a wire. */
  #recall(): void {
    this.#tellRecalled(Math.max(1, this.#begun));
    this.#jobs = this.#jobs.slice(0, this.#isOpen && this.#jobs.length > 0 ? 1 : 0);
    this.#begun = 0;
    this.#isOpen = false;
  }

  /** Only where no more have begun, and not of one that is fresh. */
  #recallUnbegun(begun: number): void {
    if (this.isEnding || !this.#isUsed || this.#begun > begun) return;
    this.#jobs = [];
    this.#tellRecalled(begun);
  }

  #tellRecalled(begun: number): void {
    setImmediate(() => {
      if (!this.isGone) this.worker.recalled(begun);
    });
  }
}

export function openMachine(options: MachineOptions = {}): Machine {
  return new Machine(options);
}
