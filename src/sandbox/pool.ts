import {
  failed,
  MAX_SETTING_BYTES,
  MAX_WAITING_BYTES,
  type Ending,
  type FlowSpec,
  type FromRunner,
  type Job,
  type OperationAnswer,
  type OperationRequest,
  type RunnerSetup,
} from "../runner/protocol.ts";
import { Batch, newRun, type Run } from "./batch.ts";
import { causeOf, REPLACED, toPlain } from "./ending.ts";
import { FlowThread } from "./flow-thread.ts";
import { FlowThreads } from "./flow-threads.ts";
import { Pace } from "./pace.ts";
import { isTaskResult } from "./thread-shapes.ts";
import type { FromThread, RunResult } from "./thread-messages.ts";

/** A thread without anything to do for so long is let go, unless it is the pool's last. */
const IDLE_MS = 30_000;
/** Longest wait of one that is ahead for a thread. */
const AHEAD_MS = 20;
/** Longest wait for a thread that has begun another, before a run is given to the next. */
const LOOK_MS = 5;
/** Longest wait for log lines that a result has overtaken. */
const LATE_LINES_MS = 1_000;

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
  readonly #threads: FlowThreads;
  /** What the busy threads have. */
  readonly #batches = new Map<FlowThread, Batch>();
  readonly #pace = new Pace();
  #waiting: Run[] = [];
  #is_gathering = false;
  /** A look at what waits is due. */
  #is_looking = false;
  #closing = false;
  /** Longest value of an operation, in characters. */
  readonly #most: number;
  /** When it last started or ended a run, as performance.now(). */
  used_at = performance.now();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#most = Math.max(options.setup.max_input_bytes, MAX_SETTING_BYTES);
    this.#threads = new FlowThreads(options.setup.flow_threads, () => this.#start());
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
    this.#advanceSoon();
  }

  /** The signal now; the thread's end after the grace. */
  abort(id: string, reason: string): void {
    const run = this.#runs.get(id);
    if (run === undefined || run.aborted !== null) return;
    run.aborted = reason;
    if (run.batch !== null) this.#takeBack(run.batch);
    const { thread } = run.batch ?? {};
    if (thread === undefined) return this.#withdraw(run, reason);
    const { cancel_grace_ms } = this.#options.setup;
    run.grace = setTimeout(() => this.#terminate(run, thread, reason), cancel_grace_ms);
    thread.post({ type: "abort", id, reason });
  }

  /** Lets further threads go that have had nothing to do for long. */
  trim(): void {
    const before = performance.now() - IDLE_MS;
    const idle = this.#threads.idleBefore(before).slice(0, this.#threads.size - 1);
    for (const thread of idle) this.#end(thread);
  }

  /** Lets all threads go that have had nothing to do since a time, as performance.now(). */
  endIdle(before: number): void {
    for (const thread of this.#threads.idleBefore(before)) this.#end(thread);
  }

  /** Lets the threads go, once the last run has ended. */
  close(): void {
    this.#closing = true;
    if (this.#runs.size === 0) for (const thread of this.#threads) this.#end(thread);
  }

  /** What came in this turn of the event loop is given out together. */
  #advanceSoon(): void {
    if (this.#is_gathering) return;
    this.#is_gathering = true;
    queueMicrotask(() => {
      this.#is_gathering = false;
      this.#advance();
    });
  }

  /** Gives what waits to who is idle, and starts threads for the rest. */
  #advance(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#threads.take();
      if (thread === undefined) return this.#hold();
      this.#begin(new Batch(thread, this.#waiting.splice(0, this.#pace.together())));
    }
  }

  /** Nobody is idle: further threads, as far as they may be, and patience for the rest. */
  #hold(): void {
    this.#threads.grow(this.#waiting.length / this.#pace.together());
    this.#lookSoon();
  }

  #lookSoon(): void {
    if (this.#is_looking) return;
    this.#is_looking = true;
    setTimeout(() => this.#look(), LOOK_MS);
  }

  /** Whether each run that waits, for a thread or behind another in it, should go on waiting. */
  #look(): void {
    this.#is_looking = false;
    const now = performance.now();
    for (const batch of this.#batches.values()) {
      if (!batch.is_whole) continue;
      if (now - batch.since < LOOK_MS / 2) this.#lookSoon();
      else {
        this.#pace.slowDown();
        this.#takeBack(batch);
      }
    }
    this.#returnLate(now - AHEAD_MS);
    this.#advance();
    if (this.#closing) this.close();
  }

  /** What is ahead waits for a thread that should be free in a moment; its turn may be elsewhere. */
  #returnLate(before: number): void {
    const isLate = (run: Run): boolean => run.is_ahead && run.since < before;
    const late = this.#waiting.filter(isLate);
    if (late.length > 0) this.#waiting = this.#waiting.filter((run) => !isLate(run));
    for (const { job } of late) {
      this.#runs.delete(job.id);
      this.#options.send({ type: "returned", id: job.id });
    }
  }

  /** What a thread has not begun waits again, before all others. */
  #takeBack(batch: Batch): void {
    const left = batch.takeBack().filter((run) => this.#runs.get(run.job.id) === run);
    this.#waiting.unshift(...left);
    if (left.length > 0) this.#advanceSoon();
  }

  #start(): FlowThread {
    const { spec, setup, send } = this.#options;
    return new FlowThread(spec, setup, {
      onReady: (ready) => this.#free(ready),
      onMessage: (from, message) => this.#receive(from, message),
      onLost: (lost, error) => this.#replace(lost, error),
      onStuck: () => send({ type: "stuck", key: spec.key }),
    });
  }

  #begin(batch: Batch): void {
    this.#batches.set(batch.thread, batch);
    if (batch.is_whole) this.#lookSoon();
    batch.begin().then(
      (result: unknown) => this.#return(batch, result),
      (error: unknown) => this.#discard(batch, causeOf(error, this.#options.spec.memory_mb)),
    );
  }

  /** Its thread has ended, or cannot be relied on. */
  #discard(batch: Batch, why: string): void {
    this.#lose(batch, why);
    this.#end(batch.thread);
    this.#advance();
  }

  #free(thread: FlowThread): void {
    this.#threads.free(thread);
    this.#advance();
  }

  #return(batch: Batch, result: unknown): void {
    const { thread } = batch;
    const told = isTaskResult(result) && result.type === "ended" ? result : null;
    const run = batch.runs.find(({ job }) => job.id === told?.id);
    if (told === null || run?.batch !== batch) return this.#discard(batch, REPLACED);
    if (this.#batches.get(thread) === batch) this.#batches.delete(thread);
    this.#pace.learn(told.mean_ms);
    if (run.lines < told.lines) thread.drain();
    this.#conclude(run, told);
    if (this.#lose(batch, REPLACED)) this.#end(thread);
    this.#free(thread);
  }

  /** It ends when its last line has come. */
  #conclude(run: Run, told: RunResult): void {
    if (run.lines >= told.lines) return this.#finish(run, told.ending);
    run.returned = told;
    setTimeout(() => this.#finish(run, told.ending), LATE_LINES_MS);
  }

  /**
   * Those that the thread has begun and told nothing of; the others wait again.
   *
   * @returns whether there were any
   */
  #lose(batch: Batch, why: string): boolean {
    this.#takeBack(batch);
    // What it told of the others came through another channel, and may have been overtaken.
    if (batch.runs.length > 1) batch.thread.drain();
    const lost = batch.runs.filter(
      (run) =>
        this.#runs.get(run.job.id) === run &&
        run.batch === batch &&
        !run.is_terminated &&
        run.returned === null,
    );
    for (const run of lost) this.#finish(run, failed(why));
    return lost.length > 0;
  }

  /** A thread has ended that nobody had ended, or one that was. */
  #replace(thread: FlowThread, error: unknown): void {
    // One that cannot even start would be followed by others without end: its run fails.
    const is_start = this.#threads.isStarting(thread);
    this.#forget(thread);
    const [first] = this.#waiting;
    if (is_start && first !== undefined) {
      this.#waiting.shift();
      this.#finish(first, failed(causeOf(error, this.#options.spec.memory_mb)));
    }
    this.#advance();
  }

  /** It has not begun: there is no thread to end. */
  #withdraw(run: Run, reason: string): void {
    this.#waiting = this.#waiting.filter((other) => other !== run);
    this.#finish(run, failed(reason));
  }

  #terminate(run: Run, thread: FlowThread, reason: string): void {
    // It may have ended in time, and the thread have gone on with another.
    thread.drain();
    if (this.#runs.get(run.job.id) !== run) return;
    run.is_terminated = true;
    // Lines that it wrote until now are delivered before the event of its end.
    this.#end(thread, () => setImmediate(() => this.#finish(run, failed(reason))));
    this.#advance();
  }

  #end(thread: FlowThread, ended?: () => void): void {
    this.#forget(thread);
    thread.end(ended);
  }

  #forget(thread: FlowThread): void {
    const batch = this.#batches.get(thread);
    if (batch !== undefined) this.#takeBack(batch);
    this.#batches.delete(thread);
    this.#threads.forget(thread);
  }

  #finish(run: Run, ending: Ending): void {
    if (this.#runs.get(run.job.id) !== run) return;
    if (run.grace !== null) clearTimeout(run.grace);
    this.#runs.delete(run.job.id);
    this.used_at = performance.now();
    const aborted = ending.aborted || run.aborted !== null;
    const { max_output_bytes } = this.#options.setup;
    const told = toPlain(ending, { aborted, max_output_bytes });
    this.#options.send({ type: "ended", id: run.job.id, ending: told });
    if (this.#closing) this.close();
  }

  #receive(thread: FlowThread, message: FromThread): void {
    if (message.type === "operation") return this.#ask(thread, message);
    const run = this.#runs.get(message.id);
    // What a thread says of another's run was made by its flow.
    if (run === undefined || run.batch?.thread !== thread) return;
    if (message.type === "log") return this.#keep(run, message);
    this.#finish(run, message.ending);
    if (message.type === "ran") return;
    this.#end(thread);
    this.#advance();
    // The next run is not to wait for a thread because this one spoilt its own.
    if (!this.#closing) this.#threads.keepOne();
  }

  #keep(run: Run, { id, line }: FromThread & { type: "log" }): void {
    const { at, level, text } = line;
    run.lines += 1;
    // One beyond the limit is the line that says that lines were dropped.
    if (run.lines <= this.#options.setup.max_log_lines + 2) {
      this.#options.send({ type: "log", id, lines: [{ at, level, text }] });
    }
    if (run.returned !== null && run.lines >= run.returned.lines)
      this.#finish(run, run.returned.ending);
  }

  #ask(thread: FlowThread, { number, request }: FromThread & { type: "operation" }): void {
    const reply = (answer: OperationAnswer): void =>
      thread.post({ type: "answer", number, answer });
    const { id, operation, name, value } = request;
    const refuse = (message: string): void => reply({ ok: false, message });
    // What a thread asks in another's name was made by its flow.
    if (this.#runs.get(id)?.batch?.thread !== thread) return refuse("The execution has ended");
    if (value !== null && value.length > this.#most) return refuse("Its value is too large");
    // Its own program asks no more than this.
    if (thread.waiting_length > MAX_WAITING_BYTES) return refuse("Too many operations wait");
    const length = (value ?? name).length;
    thread.waiting_length += length;
    this.#options.ask({ id, operation, name, value }, (answer) => {
      thread.waiting_length -= length;
      reply(answer);
    });
  }
}
