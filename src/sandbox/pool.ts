import { receiveMessageOnPort, MessagePort, type Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import {
  isRecord,
  type Ending,
  type FlowSpec,
  type FromRunner,
  type Job,
  type OperationAnswer,
  type OperationRequest,
  type RunnerSetup,
} from "../runner/protocol.ts";
import { isFromThread, isTaskResult } from "./thread-shapes.ts";
import { listen } from "./ports.ts";
import { startThreads } from "./threads.ts";
import type { FromThread, Task, ToThread } from "./thread-messages.ts";

/** A thread that has not ended so long after its termination is held by a native call. */
const STUCK_MS = 2_000;
/** Longest wait for log lines that a result has overtaken. */
const LATE_LINES_MS = 1_000;

interface Run {
  readonly job: Job;
  /** Aborting it ends the thread that has the run. */
  readonly terminator: AbortController;
  lines: number;
  /** Why it was aborted. */
  aborted: string | null;
  grace: NodeJS.Timeout | null;
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
  readonly #piscina: Piscina;
  readonly #runs = new Map<string, Run>();
  /** The port of each thread, by its id. */
  readonly #ports = new Map<number, MessagePort>();
  /** The thread that was told to end last. */
  #terminated: readonly Worker[] = [];
  #closing = false;
  /** When it last started or ended a run, as performance.now(). */
  used_at = performance.now();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#piscina = startThreads(options.spec, options.setup, { inspecting: false });
    this.#piscina.on("message", (message: unknown) => this.#addPort(message));
    // An error between two runs: the thread is gone, and no execution with it.
    this.#piscina.on("error", () => {});
    this.#piscina.on("workerDestroy", ({ id }: { id: number }) => this.#watchEnd(id));
  }

  get threads(): number {
    return this.#piscina.threads.length;
  }

  get running(): number {
    return this.#runs.size;
  }

  run(job: Job): void {
    const run: Run = {
      job,
      terminator: new AbortController(),
      lines: 0,
      aborted: null,
      grace: null,
      returned: null,
    };
    this.#runs.set(job.id, run);
    this.used_at = performance.now();
    const task: Task = { type: "run", job };
    this.#piscina.run(task, { signal: run.terminator.signal }).then(
      (result: unknown) => this.#return(run, result),
      (error: unknown) => this.#lose(run, error),
    );
  }

  /** The signal now; the thread's end after the grace. */
  abort(id: string, reason: string): void {
    const run = this.#runs.get(id);
    if (run === undefined || run.aborted !== null) return;
    run.aborted = reason;
    run.grace = setTimeout(() => this.#terminate(run, reason), this.#options.setup.cancel_grace_ms);
    // Which thread has the run is not known here: the others ignore it.
    for (const port of this.#ports.values()) post(port, { type: "abort", id, reason });
  }

  /** Lets the threads go, once the last run has ended. */
  close(): void {
    this.#closing = true;
    if (this.#runs.size === 0) void this.#piscina.destroy();
  }

  #return(run: Run, result: unknown): void {
    if (!isTaskResult(result) || result.type !== "ended") {
      return this.#finish(run, lost("The flow replaced the answer of its thread"));
    }
    if (run.lines < result.lines) this.#drain();
    if (run.lines >= result.lines) return this.#finish(run, result.ending);
    // A new thread's port can arrive after its first result: both come over channels of their own.
    run.returned = result;
    setTimeout(() => this.#finish(run, result.ending), LATE_LINES_MS);
  }

  #lose(run: Run, error: unknown): void {
    if (run.terminator.signal.aborted) return;
    this.#drain();
    this.#finish(run, lost(causeOf(error, this.#options.spec.memory_mb)));
  }

  #terminate(run: Run, reason: string): void {
    this.#terminated = [];
    run.terminator.abort();
    const [thread] = this.#terminated;
    const ending = lost(reason);
    // Lines that it wrote until now are delivered before the event of its end.
    if (thread === undefined) this.#finish(run, ending);
    else thread.once("exit", () => setImmediate(() => this.#finish(run, ending)));
  }

  #finish(run: Run, ending: Ending): void {
    if (this.#runs.get(run.job.id) !== run) return;
    if (run.grace !== null) clearTimeout(run.grace);
    this.#runs.delete(run.job.id);
    this.used_at = performance.now();
    const told = run.aborted === null ? ending : { ...ending, aborted: true };
    this.#options.send({ type: "ended", id: run.job.id, ending: told });
    if (this.#closing && this.#runs.size === 0) void this.#piscina.destroy();
  }

  /** A flow that got hold of its thread's channel could send any number of ports: one counts. */
  #addPort(message: unknown): void {
    if (!isGreeting(message) || this.#ports.has(message.thread)) return;
    const { port, thread } = message;
    if (!this.#piscina.threads.some(({ threadId }) => threadId === thread)) return;
    this.#ports.set(thread, port);
    listen(
      port,
      (from) => this.#receive(port, from),
      () => this.#ports.delete(thread),
    );
    for (const run of this.#runs.values()) {
      if (run.aborted !== null) post(port, { type: "abort", id: run.job.id, reason: run.aborted });
    }
  }

  #receive(port: MessagePort, message: unknown): void {
    if (!isFromThread(message)) return;
    if (message.type === "operation") return this.#ask(port, message);
    const run = this.#runs.get(message.id);
    if (run === undefined) return;
    if (message.type === "log") return this.#keep(run, message);
    this.#finish(run, message.ending);
    run.terminator.abort();
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

  #ask(port: MessagePort, { number, request }: FromThread & { type: "operation" }): void {
    const reply = (answer: OperationAnswer): void => post(port, { type: "answer", number, answer });
    if (this.#runs.has(request.id)) this.#options.ask(request, reply);
    else reply({ ok: false, message: "The execution has ended" });
  }

  /** Takes what threads have sent and the event loop has not delivered yet. */
  #drain(): void {
    for (const port of this.#ports.values()) {
      for (
        let from = receiveMessageOnPort(port);
        from !== undefined;
        from = receiveMessageOnPort(port)
      ) {
        this.#receive(port, from.message);
      }
    }
  }

  /** Called while the thread with this id is being told to end. */
  #watchEnd(id: number): void {
    const thread = this.#piscina.threads.find((candidate) => candidate.threadId === id);
    if (thread === undefined || id < 0) return;
    this.#terminated = [thread];
    this.#drain();
    this.#ports.delete(id);
    const { send, spec } = this.#options;
    const timer = setTimeout(() => send({ type: "stuck", key: spec.key }), STUCK_MS);
    thread.once("exit", () => clearTimeout(timer));
  }
}

interface Greeting {
  readonly port: MessagePort;
  readonly thread: number;
}

function isGreeting(message: unknown): message is Greeting {
  if (!isRecord(message)) return false;
  const { port, thread } = message;
  return port instanceof MessagePort && typeof thread === "number";
}

function post(port: MessagePort, message: ToThread): void {
  port.postMessage(message);
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
