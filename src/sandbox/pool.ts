import type {
  Ending,
  FlowSpec,
  FromRunner,
  Job,
  OperationAnswer,
  OperationRequest,
  RunnerSetup,
} from "../runner/protocol.ts";
import { FlowThread } from "./flow-thread.ts";
import { isTaskResult } from "./thread-shapes.ts";
import type { FromThread } from "./thread-messages.ts";

/** A thread without anything to do for so long is let go, unless it is the pool's last. */
const IDLE_MS = 30_000;
/** Longest wait of one that is ahead for a thread. */
const AHEAD_MS = 20;
/** Longest wait for log lines that a result has overtaken. */
const LATE_LINES_MS = 1_000;

interface Run {
  readonly job: Job;
  /** It is returned where no thread is free soon. */
  readonly is_ahead: boolean;
  /** null: it waits for a thread. */
  thread: FlowThread | null;
  /** When it came, as performance.now(). */
  readonly since: number;
  lines: number;
  /** Why it was aborted. */
  aborted: string | null;
  grace: NodeJS.Timeout | null;
  /** Its thread is being ended: it ends with it. */
  is_terminated: boolean;
  /** Returned already, while lines of its log are on their way. */
  returned: { readonly ending: Ending; readonly lines: number } | null;
}

export interface PoolOptions {
  readonly spec: FlowSpec;
  readonly setup: RunnerSetup;
  send(message: FromRunner): void;
  /** Passes an operation on; `reply` takes the answer back to the thread. */
  ask(request: OperationRequest, reply: (answer: OperationAnswer) => void): void;
}

/** The threads of one flow version. Threads are never shared by two versions. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #runs = new Map<string, Run>();
  readonly #threads = new Set<FlowThread>();
  readonly #starting = new Set<FlowThread>();
  /** The one that was busy last is taken first: its caches are warm, and the others may go. */
  readonly #idle: FlowThread[] = [];
  #waiting: Run[] = [];
  /** A look at what waits is due. */
  #is_patient = false;
  #closing = false;
  /** When it last started or ended a run, as performance.now(). */
  used_at = performance.now();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get threads(): number {
    return this.#threads.size;
  }

  get running(): number {
    return this.#runs.size;
  }

  run(job: Job, is_ahead: boolean): void {
    const run = newRun(job, is_ahead);
    this.#runs.set(job.id, run);
    this.used_at = performance.now();
    this.#waiting.push(run);
    this.#advance();
  }

  /** The signal now; the thread's end after the grace. */
  abort(id: string, reason: string): void {
    const run = this.#runs.get(id);
    if (run === undefined || run.aborted !== null) return;
    run.aborted = reason;
    const { thread } = run;
    if (thread === null) return this.#withdraw(run, reason);
    const { cancel_grace_ms } = this.#options.setup;
    run.grace = setTimeout(() => this.#terminate(run, thread, reason), cancel_grace_ms);
    thread.post({ type: "abort", id, reason });
  }

  /** Lets further threads go that have had nothing to do for long. */
  trim(): void {
    const before = performance.now() - IDLE_MS;
    while (this.#threads.size > 1 && (this.#idle[0]?.idle_since ?? Infinity) < before)
      void this.#end(this.#idle[0] as FlowThread);
  }

  /** Lets the threads go, once the last run has ended. */
  close(): void {
    this.#closing = true;
    if (this.#runs.size === 0) for (const thread of this.#threads) void this.#end(thread);
  }

  /** Gives what waits to who is idle, and starts threads for the rest. */
  #advance(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#idle.pop();
      if (thread === undefined) return this.#hold();
      this.#begin(this.#waiting.shift() as Run, thread);
    }
  }

  /** Nobody is idle: further threads, as far as they may be, and patience for the rest. */
  #hold(): void {
    this.#grow();
    if (this.#is_patient) return;
    this.#is_patient = true;
    setTimeout(() => this.#returnLate(), AHEAD_MS);
  }

  /** What is ahead waits for a thread that should be free in a moment; its turn may be elsewhere. */
  #returnLate(): void {
    this.#is_patient = false;
    const now = performance.now();
    const late = this.#waiting.filter((run) => run.is_ahead && now - run.since >= AHEAD_MS / 2);
    if (late.length > 0) this.#waiting = this.#waiting.filter((run) => !late.includes(run));
    for (const { job } of late) {
      this.#runs.delete(job.id);
      this.#options.send({ type: "returned", id: job.id });
    }
    if (this.#waiting.length > 0) this.#hold();
    if (this.#closing) this.close();
  }

  #grow(): void {
    const { spec, setup, send } = this.#options;
    const most = setup.flow_threads;
    while (this.#starting.size < this.#waiting.length && this.#threads.size < most) {
      const thread = new FlowThread(spec, setup, {
        onReady: (ready) => {
          this.#starting.delete(ready);
          this.#free(ready);
        },
        onMessage: (from, message) => this.#receive(from, message),
        onLost: (lost, error) => this.#replace(lost, error),
        onStuck: () => send({ type: "stuck", key: spec.key }),
      });
      this.#threads.add(thread);
      this.#starting.add(thread);
    }
  }

  #begin(run: Run, thread: FlowThread): void {
    run.thread = thread;
    thread.run(run.job).then(
      (result: unknown) => this.#return(run, thread, result),
      (error: unknown) => this.#lose(run, error),
    );
  }

  #free(thread: FlowThread): void {
    if (!this.#threads.has(thread)) return;
    thread.idle_since = performance.now();
    this.#idle.push(thread);
    this.#advance();
  }

  #return(run: Run, thread: FlowThread, result: unknown): void {
    const told = isTaskResult(result) && result.type === "ended" ? result : null;
    if (told === null) {
      this.#finish(run, lost("The flow replaced the answer of its thread"));
      return this.#free(thread);
    }
    if (run.lines < told.lines) thread.drain();
    if (run.lines >= told.lines) this.#finish(run, told.ending);
    else {
      run.returned = told;
      setTimeout(() => this.#finish(run, told.ending), LATE_LINES_MS);
    }
    this.#free(thread);
  }

  #lose(run: Run, error: unknown): void {
    if (!run.is_terminated) this.#finish(run, lost(causeOf(error, this.#options.spec.memory_mb)));
  }

  /** A thread has ended that nobody had ended, or one that was. */
  #replace(thread: FlowThread, error: unknown): void {
    // One that cannot even start would be followed by others without end: its run fails.
    const is_start = this.#starting.has(thread) && this.#threads.has(thread);
    this.#forget(thread);
    const [first] = this.#waiting;
    if (is_start && first !== undefined) {
      this.#waiting.shift();
      this.#finish(first, lost(causeOf(error, this.#options.spec.memory_mb)));
    }
    this.#advance();
  }

  /** It has not begun: there is no thread to end. */
  #withdraw(run: Run, reason: string): void {
    this.#waiting = this.#waiting.filter((other) => other !== run);
    this.#finish(run, lost(reason));
  }

  #terminate(run: Run, thread: FlowThread, reason: string): void {
    run.is_terminated = true;
    // Lines that it wrote until now are delivered before the event of its end.
    void this.#end(thread).then(() => setImmediate(() => this.#finish(run, lost(reason))));
    this.#advance();
  }

  #end(thread: FlowThread): Promise<void> {
    this.#forget(thread);
    return thread.end();
  }

  #forget(thread: FlowThread): void {
    this.#threads.delete(thread);
    this.#starting.delete(thread);
    const at = this.#idle.indexOf(thread);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #finish(run: Run, ending: Ending): void {
    if (this.#runs.get(run.job.id) !== run) return;
    if (run.grace !== null) clearTimeout(run.grace);
    this.#runs.delete(run.job.id);
    this.used_at = performance.now();
    const told = run.aborted === null ? ending : { ...ending, aborted: true };
    this.#options.send({ type: "ended", id: run.job.id, ending: told });
    if (this.#closing) this.close();
  }

  #receive(thread: FlowThread, message: FromThread): void {
    if (message.type === "operation") return this.#ask(thread, message);
    const run = this.#runs.get(message.id);
    // What a thread says of another's run was made by its flow.
    if (run === undefined || run.thread !== thread) return;
    if (message.type === "log") return this.#keep(run, message);
    this.#finish(run, message.ending);
    void this.#end(thread);
    this.#advance();
  }

  #keep(run: Run, { id, line }: FromThread & { type: "log" }): void {
    run.lines += 1;
    // One beyond the limit is the line that says that lines were dropped.
    if (run.lines <= this.#options.setup.max_log_lines + 2) {
      this.#options.send({ type: "log", id, lines: [line] });
    }
    if (run.returned !== null && run.lines >= run.returned.lines)
      this.#finish(run, run.returned.ending);
  }

  #ask(thread: FlowThread, { number, request }: FromThread & { type: "operation" }): void {
    const reply = (answer: OperationAnswer): void =>
      thread.post({ type: "answer", number, answer });
    if (this.#runs.has(request.id)) this.#options.ask(request, reply);
    else reply({ ok: false, message: "The execution has ended" });
  }
}

function newRun(job: Job, is_ahead: boolean): Run {
  return {
    job,
    is_ahead,
    thread: null,
    since: performance.now(),
    lines: 0,
    aborted: null,
    grace: null,
    is_terminated: false,
    returned: null,
  };
}

function lost(status_message: string): Ending {
  return {
    status: "ENDED_ERROR",
    status_message,
    output_value: null,
    response: null,
    aborted: false,
  };
}

function causeOf(error: unknown, memory_mb: number): string {
  if (!(error instanceof Error)) return "The flow's thread was lost";
  if (Reflect.get(error, "code") === "ERR_WORKER_OUT_OF_MEMORY") {
    return `Out of memory: the flow used more than ${memory_mb} MB (memory_mb)`;
  }
  return `The flow's thread was lost: ${error.message}`;
}
