import { receiveMessageOnPort, MessagePort, type Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import { isRecord, type FlowSpec, type Job, type RunnerSetup } from "../runner/protocol.ts";
import { newClaims, openClaims, takeBack } from "./claims.ts";
import { listen } from "./ports.ts";
import { isFromThread } from "./thread-shapes.ts";
import { startThread } from "./threads.ts";
import type { FromThread, Task, ToThread } from "./thread-messages.ts";

/** A thread that has not ended so long after its termination is held by a native call. */
const STUCK_MS = 2_000;

/** A flow that got hold of its thread's channel could fill it as fast as it is emptied. */
const MOST_DRAINED = 10_000;

export interface ThreadEvents {
  /** It takes runs from now on. */
  onReady(thread: FlowThread): void;
  onMessage(thread: FlowThread, message: FromThread): void;
  /** It has ended by itself, or is about to. */
  onLost(thread: FlowThread, error: unknown): void;
  /** It was terminated, and has not ended. */
  onStuck(): void;
}

/**
 * One thread of a flow version, in a Piscina of its own: which thread has a run is known here, so
 * that it can be spoken to and ended alone.
 */
export class FlowThread {
  readonly #events: ThreadEvents;
  readonly #piscina: Piscina;
  readonly #worker: Worker;
  readonly #claims = newClaims();
  #port: MessagePort | null = null;
  #error: unknown = null;
  #is_ending = false;
  #has_exited = false;
  /** Since when it has had nothing to do, as performance.now(). */
  idle_since = performance.now();
  /** Of the values of its operations that wait for an answer, in characters. */
  waiting_length = 0;

  constructor(spec: FlowSpec, setup: RunnerSetup, events: ThreadEvents) {
    this.#events = events;
    this.#piscina = startThread(spec, setup, { inspecting: false, claims: this.#claims });
    this.#worker = this.#piscina.threads[0] as Worker;
    this.#piscina.on("message", (message: unknown) => this.#greet(message));
    this.#piscina.on("error", (error: unknown) => (this.#error = error));
    // Also where nobody ends it: Piscina would start another in its place.
    this.#piscina.on("workerDestroy", () => this.end());
    this.#worker.once("exit", () => {
      this.#has_exited = true;
      this.#events.onLost(this, this.#error);
    });
  }

  /** Settles with what the thread returns. Rejects where the thread ends before. */
  run(jobs: readonly Job[]): Promise<unknown> {
    openClaims(this.#claims);
    const task: Task = { type: "run", jobs };
    return this.#piscina.run(task);
  }

  /** How many of the jobs have begun; the others never will. */
  takeBack(): number {
    return takeBack(this.#claims);
  }

  post(message: ToThread): void {
    this.#port?.postMessage(message);
  }

  /** Takes what the thread has sent and the event loop has not delivered yet, up to a limit. */
  drain(): void {
    for (let left = MOST_DRAINED; left > 0 && this.#port !== null; left -= 1) {
      const next = takeNext(this.#port);
      if (next === undefined) return;
      this.#receive(next.message);
    }
  }

  /** Terminates it. @param ended called when it has ended */
  end(ended?: () => void): void {
    if (ended !== undefined) this.#whenExited(ended);
    if (this.#is_ending) return;
    this.#is_ending = true;
    this.drain();
    const timer = setTimeout(() => this.#events.onStuck(), STUCK_MS);
    this.#whenExited(() => clearTimeout(timer));
    // Where that fails the thread stays, and is told of as stuck.
    this.#piscina.destroy().catch(() => {});
  }

  #whenExited(then: () => void): void {
    if (this.#has_exited) then();
    else this.#worker.once("exit", then);
  }

  /** A flow that got hold of its thread's channel could send any number of ports: one counts. */
  #greet(message: unknown): void {
    if (this.#port !== null || !isRecord(message)) return;
    const { port } = message;
    if (!(port instanceof MessagePort)) return;
    this.#port = port;
    listen(port, (from) => this.#receive(from));
    this.#events.onReady(this);
  }

  #receive(message: unknown): void {
    if (isFromThread(message)) this.#events.onMessage(this, message);
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
