import type { Socket } from "node:net";
import { correct } from "../../shared/clock.ts";
import { excessBytes, MAX_GIVEN } from "../../shared/wire/forwarded.ts";
import { FrameReader, toFrame } from "../../shared/wire/frames.ts";
import { SurelyUnsent } from "../../shared/wire/surely-unsent.ts";
import {
  failed,
  MAX_SETTING_BYTES,
  toLongestResponse,
  type Ending,
  type FlowSpec,
  type Job,
  type OfThread,
  type OperationAnswer,
  type ThreadLimits,
  type ToRunner,
} from "../../shared/wire/protocol.ts";
import type { FromThread, ToThread } from "../../shared/wire/thread-messages.ts";
import { decode, encode } from "./line-text.ts";
import { OperationTurns } from "./operation-turns.ts";
import type { Awaited, ThreadListener } from "./thread-listener.ts";
import { WaitingOperations } from "./waiting-operations.ts";
import { Worker, type WorkerEvents, type WorkerLine } from "./worker.ts";

/** Why a run failed whose thread told something that its own program does not. */
const REPLACED = failed("The flow replaced the answer of its thread");

/** Heads, log lines and a custom response's own members, in bytes. */
const REST_OF_FRAME = 2 ** 20;

/** Runs share a frame up to this many characters: many large ones would be longer than a frame may be. */
const FULL_FRAME = 2 ** 22;

/** There is one event loop for all threads. */
const turns = new OperationTurns();

/** Of so many runs that have ended it is known that they were a thread's. */
const REMEMBERED = 64;

/** A text has at most three bytes for each of its UTF-16 units. */
const BYTES = 3;

export interface ThreadLineOptions {
  /** By which the runner knows the thread. */
  readonly thread: number;
  readonly spec: FlowSpec;
  readonly limits: ThreadLimits;
  readonly events: WorkerEvents;
  /** null: the runner forwards what thread and server say. */
  readonly listener: ThreadListener | null;
  send(message: ToRunner): void;
  /** Code that a run left behind has failed. @param execution null: not known */
  onStray(execution: string | null, text: string): void;
  /** What runs left behind kept it from the next one, and it was ended. */
  onHeld(): void;
  /** The server itself failed on a message of the thread, which is ended. */
  onError(error: unknown): void;
  /** Runs are handed over, or one has ended. */
  onRun(): void;
  /** The thread was told to end. */
  onEnd(): void;
}

/**
 * The line to one thread: a socket that the thread has connected to the server, or its runner's
 * channel. Starting, recalling and ending are the runner's in either case. What comes from the
 * thread is looked at here; a thread that says what its program does not say is ended.
 */
export class ThreadLine implements WorkerLine {
  readonly worker: Worker;
  readonly #options: ThreadLineOptions;
  readonly #awaited: Awaited | null;
  readonly #operations: WaitingOperations;
  #socket: Socket | null = null;
  /** What is written to it. */
  #frames: SurelyUnsent | null = null;
  /** What has been recalled was of an earlier one. */
  #round = 0;
  /** Lines of the log of the current run. */
  #lines = 0;
  #isBroken = false;
  /** The latest that have ended, in turn. */
  readonly #past: string[] = [];
  #runs = 0;
  #hasStray = false;
  /** Called once the thread's last words were read, in their order; empty while it lives. */
  readonly #closed: (() => void)[] = [];

  constructor(options: ThreadLineOptions) {
    this.#options = options;
    const { spec, events, listener, limits, thread } = options;
    this.worker = new Worker(spec, this, events);
    this.#operations = new WaitingOperations(Math.max(limits.max_input_bytes, MAX_SETTING_BYTES));
    this.#awaited = listener?.await((socket) => this.#connected(socket)) ?? null;
    const line = this.#awaited?.address ?? null;
    options.send({ type: "start", thread, spec, line });
  }

  run(jobs: readonly Job[]): void {
    this.#options.onRun();
    for (const some of divide(jobs))
      this.#tell({ type: "run", round: this.#round, jobs: some }, some.length);
  }

  recall(begun: number | null): void {
    this.#options.send({ type: "recall", thread: this.#options.thread, begun });
  }

  abort(id: string, reason: string): void {
    this.#tell({ type: "abort", id, reason });
  }

  /** It counts until it has left: a thread that does not read asks for no more than others do. */
  answer(number: number, answer: OperationAnswer): void {
    this.#operations.answered(number);
    const told = toCarried(answer);
    this.#tell({ type: "answer", number, answer: told }, 0, () => this.#operations.left(number));
  }

  end(): void {
    this.#options.send({ type: "end", thread: this.#options.thread });
    this.#options.onEnd();
  }

  /** What the runner tells of the thread. @param gone called when it has ended */
  receive(message: OfThread, gone: () => void): void {
    if (message.type === "started") this.worker.started();
    else if (message.type === "told") this.#read(message.text);
    else if (message.type === "recalled") {
      this.#round += 1;
      if (this.worker.recalled(message.begun)) this.#options.onHeld();
    } else
      this.whenClosed(() => {
        gone();
        this.worker.exited(message.begun, failed(message.message));
      });
  }

  /** Runs have not got to the thread, and will not. @param round in which they were told: what was is not here any more */
  unsent(runs: number, round: number): void {
    if (round === this.#round) this.worker.unsent(runs);
  }

  /** The thread is gone: calls back once all is read that it had said. */
  whenClosed(act: () => void): void {
    this.#awaited?.forget();
    if (this.#socket === null || this.#socket.closed) act();
    else this.#closed.push(act);
  }

  /** Nobody listens to the thread any more. */
  drop(): void {
    this.#awaited?.forget();
    this.#isBroken = true;
    this.#socket?.destroy();
  }

  #connected(socket: Socket): void {
    const { limits } = this.#options;
    const { max_output_bytes, max_input_bytes } = limits;
    const longest = BYTES * (max_output_bytes + toLongestResponse(max_output_bytes));
    const frames = new FrameReader(
      this.#awaited?.address.token ?? "",
      longest + BYTES * max_input_bytes + REST_OF_FRAME,
    );
    this.#socket = socket;
    this.#frames = new SurelyUnsent(socket);
    socket.on("data", (chunk: Buffer) => this.#take(frames, chunk));
    socket.once("close", () => {
      // A thread that ends is told of by its runner; one that only closes its line is of no use.
      if (this.#closed.length === 0) this.worker.lineClosed();
      for (const act of this.#closed.splice(0)) act();
    });
    this.worker.started();
  }

  #take(frames: FrameReader, chunk: Buffer): void {
    if (this.#isBroken) return;
    let texts: string[];
    try {
      texts = frames.complete(chunk);
    } catch {
      return this.#break();
    }
    for (const text of texts) this.#read(text);
  }

  /** @param runs how many are handed over with it @param left called when it is on its way */
  #tell(message: ToThread, runs = 0, left = (): void => {}): void {
    const text = encode(message);
    const round = this.#round;
    if (this.#awaited === null) {
      this.#options.send({ type: "forward", thread: this.#options.thread, text, runs, round });
      return left();
    }
    const unsent = (): void => this.unsent(runs, round);
    if (this.#frames === null) return unsent();
    this.#frames.write(this.#awaited.seal.seal(toFrame("", text)), { left, unsent });
  }

  #read(text: string): void {
    if (this.#isBroken) return;
    const message = decode(text);
    if (message === null) return this.#break();
    try {
      this.#heed(message);
    } catch (error) {
      // The thread has said nothing wrong: whoever can mend it has to see it.
      this.#break();
      this.#options.onError(error);
    }
  }

  #heed(message: FromThread): void {
    if (message.type === "ended") this.#ended(message);
    else if (message.type === "log") this.#log(message);
    else if (message.type === "stray") this.#stray(message);
    else this.#ask(message);
  }

  /** Whatever it says next is not its program's. */
  #break(): void {
    this.#isBroken = true;
    this.worker.end();
  }

  #ended({ id, ending, ms, condition }: FromThread & { type: "ended" }): void {
    if (!this.#isCurrent(id)) return this.#break();
    this.#lines = 0;
    this.#past[this.#runs % REMEMBERED] = id;
    this.#runs += 1;
    this.#options.onRun();
    // One that has ended starts no others.
    turns.hurry(this);
    const isSound = isInLimits(ending, this.#options.limits);
    this.worker.ended(id, isSound ? ending : REPLACED, ms, condition);
  }

  #log({ id, line }: FromThread & { type: "log" }): void {
    this.#lines += 1;
    // One beyond the limit is the line that says that lines were dropped.
    const isTooLong = this.#lines > this.#options.limits.max_log_lines + 1;
    if (isTooLong || !this.#isCurrent(id)) this.#break();
    else this.worker.current?.log([{ ...line, at: correct(line.at) }]);
  }

  #stray({ id, text }: FromThread & { type: "stray" }): void {
    if (this.#hasStray) return this.#break();
    this.#hasStray = true;
    this.worker.stray();
    const isOwn = this.#past.includes(id) || this.#isCurrent(id);
    this.#options.onStray(isOwn ? id : null, text);
  }

  #ask({ number, request }: FromThread & { type: "operation" }): void {
    const run = this.worker.current;
    if (run?.id !== request.id || !this.#operations.add(number, request)) return this.#break();
    turns.add(this, () => this.worker.operation(run, number, request));
  }

  #isCurrent(id: string): boolean {
    return this.worker.current?.id === id;
  }
}

/** One that is longer than a thread can be given fails. */
function toCarried(answer: OperationAnswer): OperationAnswer {
  const bytes = answer.ok ? excessBytes(answer.value) : null;
  if (bytes === null) return answer;
  return {
    ok: false,
    message: `The answer has ${bytes} bytes, a thread takes at most ${MAX_GIVEN}`,
  };
}

function divide(jobs: readonly Job[]): Job[][] {
  const parts: Job[][] = [];
  let room = 0;
  for (const job of jobs) {
    const length = job.input_value.length + (job.raw_body?.length ?? 0);
    if (length > room || parts.length === 0) {
      parts.push([]);
      room = FULL_FRAME;
    }
    parts.at(-1)?.push(job);
    room -= length;
  }
  return parts;
}

/** A thread's own program says nothing longer. */
function isInLimits({ output_value, response }: Ending, { max_output_bytes }: ThreadLimits) {
  return (
    (output_value?.length ?? 0) <= max_output_bytes &&
    (response?.length ?? 0) <= toLongestResponse(max_output_bytes)
  );
}
