import { receiveMessageOnPort, MessagePort, type Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import {
  isRecord,
  MAX_SETTING_BYTES,
  MAX_WAITING_BYTES,
  type FlowSpec,
  type FromThread as Told,
  type Job,
  type OperationAnswer,
  type RunnerSetup,
} from "../shared/wire/protocol.ts";
import { countBegun, newClaims, openRound, recall } from "../shared/wire/claims.ts";
import { causeOf, toPlain } from "./ending.ts";
import { listen } from "../shared/wire/ports.ts";
import { isFromThread } from "./thread-shapes.ts";
import { startThread } from "./threads.ts";
import type { FromThread, Task, ToThread } from "../shared/wire/thread-messages.ts";

/** A flow that got hold of its thread's channel could fill it as fast as it is emptied. */
const MOST_DRAINED = 10_000;

/** Operations that wait for their answer. */
const MOST_WAITING = 1_000;

const SERVE: Task = { type: "serve" };

export interface FlowThreadOptions {
  /** By which the server knows it. */
  readonly number: number;
  readonly spec: FlowSpec;
  readonly setup: RunnerSetup;
  tell(message: Told): void;
  /** It has ended. */
  onExit(): void;
}

/** One thread of a flow version, in a Piscina of its own, so that it can be ended alone. */
export class FlowThread {
  readonly #options: FlowThreadOptions;
  readonly #piscina: Piscina;
  readonly #worker: Worker;
  readonly #claims = newClaims();
  /** Longest value of an operation, in characters. */
  readonly #longest: number;
  /** A recall ends one, and the next run begins another. */
  #round = 0;
  #isOpen = false;
  #port: MessagePort | null = null;
  #error: unknown = null;
  #isEnding = false;
  /** The runs that it was given and has not ended; the first has its thread. */
  #ids: string[] = [];
  /** Runs that have ended of those of this round. */
  #endedRuns = 0;
  /** Lines of the log of the run that has the thread. */
  #lines = 0;
  /** Lengths of the values of its operations that wait for an answer, in characters. */
  readonly #waiting = new Map<number, number>();
  #waitingLength = 0;

  constructor(options: FlowThreadOptions) {
    this.#options = options;
    const { spec, setup } = options;
    this.#longest = Math.max(setup.limits.max_input_bytes, MAX_SETTING_BYTES);
    this.#piscina = startThread(spec, setup, { inspecting: false, claims: this.#claims });
    this.#worker = this.#piscina.threads[0] as Worker;
    this.#piscina.on("message", (message: unknown) => this.#greet(message));
    this.#piscina.on("error", () => {});
    // Also where nobody ends it: Piscina would start another in its place.
    this.#piscina.on("workerDestroy", () => this.end());
    this.#worker.once("error", (error: unknown) => (this.#error = error));
    this.#worker.once("exit", () => this.#exit());
    this.#piscina.run(SERVE).catch(() => {});
  }

  run(jobs: readonly Job[]): void {
    if (!this.#isOpen) openRound(this.#claims, this.#round);
    this.#isOpen = true;
    for (const { id } of jobs) this.#ids.push(id);
    this.#post({ type: "run", round: this.#round, jobs });
  }

  abort(id: string, reason: string): void {
    this.#post({ type: "abort", id, reason });
  }

  /** @param number which operation is answered */
  answer(number: number, answer: OperationAnswer): void {
    this.#waitingLength -= this.#waiting.get(number) ?? 0;
    this.#waiting.delete(number);
    this.#post({ type: "answer", number, answer });
  }

  /** What has not begun never will. */
  recall(): void {
    const begun = recall(this.#claims, this.#round);
    this.#round += 1;
    this.#isOpen = false;
    this.#ids.length = Math.min(this.#ids.length, Math.max(0, begun - this.#endedRuns));
    this.#endedRuns = -this.#ids.length;
    this.#tell({ type: "recalled", thread: this.#options.number, begun });
  }

  /** Terminates it. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#drain();
    this.recall();
    // Where that fails the thread stays, and the server ends the runner.
    this.#piscina.destroy().catch(() => {});
  }

  #exit(): void {
    this.#isEnding = true;
    this.#drain();
    const { number, spec } = this.#options;
    const message = causeOf(this.#error, spec.memory_mb);
    this.#tell({ type: "exited", thread: number, begun: countBegun(this.#claims), message });
    this.#options.onExit();
  }

  /** Takes what the thread has sent and the event loop has not delivered yet, up to a limit. */
  #drain(): void {
    for (let left = MOST_DRAINED; left > 0 && this.#port !== null; left -= 1) {
      const next = takeNext(this.#port);
      if (next === undefined) return;
      this.#receive(next.message);
    }
  }

  #post(message: ToThread): void {
    this.#port?.postMessage(message);
  }

  #tell(message: Told): void {
    this.#options.tell(message);
  }

  /** A flow that got hold of its thread's channel could send any number of ports: one counts. */
  #greet(message: unknown): void {
    if (this.#port !== null || !isRecord(message)) return;
    const { port } = message;
    if (!(port instanceof MessagePort)) return;
    this.#port = port;
    listen(port, (from) => this.#receive(from));
    this.#tell({ type: "started", thread: this.#options.number });
  }

  #receive(message: unknown): void {
    if (!isFromThread(message)) return;
    if (message.type === "log") this.#log(message);
    else if (message.type === "operation") this.#ask(message);
    else this.#ended(message);
  }

  /** What a thread says of another run than its own was made by its flow, and goes no further. */
  #ended({ id, ending, ms, is_last }: FromThread & { type: "ended" }): void {
    if (id !== this.#ids[0]) return;
    this.#ids.shift();
    this.#endedRuns += 1;
    this.#lines = 0;
    const { number, setup } = this.#options;
    const told = toPlain(ending, setup.limits.max_output_bytes);
    this.#tell({ type: "ended", thread: number, id, ending: told, ms, is_last });
  }

  #log({ id, line: { at, level, text } }: FromThread & { type: "log" }): void {
    if (id !== this.#ids[0]) return;
    this.#lines += 1;
    // One beyond the limit is the line that says that lines were dropped.
    if (this.#lines > this.#options.setup.limits.max_log_lines + 2) return;
    const lines = [{ at, level, text }];
    this.#tell({ type: "log", thread: this.#options.number, id, lines });
  }

  #ask({ number, request }: FromThread & { type: "operation" }): void {
    const { id, operation, name, value, wait } = request;
    const { length } = value ?? name;
    const why = this.#refuse(number, id, length);
    if (why !== null)
      return this.#post({ type: "answer", number, answer: { ok: false, message: why } });
    this.#waiting.set(number, length);
    this.#waitingLength += length;
    const plain = { id, operation, name, value, wait };
    this.#tell({ type: "operation", thread: this.#options.number, number, request: plain });
  }

  /** Why an operation is not passed on; its own program asks for none of these. */
  #refuse(number: number, id: string, length: number): string | null {
    if (id !== this.#ids[0]) return "The execution has ended";
    if (length > this.#longest) return "Its value is too large";
    const isFull = this.#waitingLength > MAX_WAITING_BYTES || this.#waiting.size >= MOST_WAITING;
    return isFull || this.#waiting.has(number) ? "Too many operations wait" : null;
  }
}

/** undefined: nothing has come. What cannot be read has no message in it. */
function takeNext(port: MessagePort): { readonly message: unknown } | undefined {
  try {
    return receiveMessageOnPort(port);
  } catch {
    return { message: null };
  }
}
