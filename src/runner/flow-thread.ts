import type { EventLoopUtilization } from "node:perf_hooks";
import { receiveMessageOnPort, MessagePort, type Worker } from "node:worker_threads";
import type { Piscina } from "piscina";
import { IS_DENO } from "../shared/intrinsics.ts";
import {
  countBegun,
  newClaims,
  recall,
  recallUnbegun,
  UNBEGUN_ROUNDS,
} from "../shared/wire/claims.ts";
import { excessBytes } from "../shared/wire/forwarded.ts";
import { listen } from "../shared/wire/ports.ts";
import {
  isRecord,
  type FlowSpec,
  type LineAddress,
  type OfThread,
  type RunnerSetup,
} from "../shared/wire/protocol.ts";
import { startThread } from "./threads.ts";

/** A flow that got hold of its thread's port could fill it as fast as it is emptied. */
const MOST_DRAINED = 10_000;

/** One whose event loop rests less than a tenth of the time, so many times one after the other, has no rest. */
const RESTLESS = 0.9;
const RESTLESS_TIMES = 4;

export interface FlowThreadOptions {
  /** By which the server knows it. */
  readonly number: number;
  readonly spec: FlowSpec;
  readonly setup: RunnerSetup;
  /** null: what it is told and says is forwarded. */
  readonly line: LineAddress | null;
  tell(message: OfThread): void;
  /** It has ended. */
  onExit(): void;
}

/**
 * One thread of a flow version, in a Piscina of its own, so that it can be ended alone. The server
 * speaks to it over a line of its own, or by way of the runner where there is none.
 */
export class FlowThread {
  readonly #options: FlowThreadOptions;
  readonly #piscina: Piscina;
  readonly #worker: Worker;
  readonly #claims = newClaims();
  /** A recall ends one, and the next run begins another. */
  #round = 0;
  #port: MessagePort | null = null;
  #error: unknown = null;
  #isEnding = false;
  #load: EventLoopUtilization | undefined;
  #restlessTimes = 0;

  constructor(options: FlowThreadOptions) {
    this.#options = options;
    const { spec, setup, line } = options;
    this.#piscina = startThread(spec, setup, { claims: this.#claims, line });
    this.#worker = this.#piscina.threads[0] as Worker;
    this.#piscina.on("message", (message: unknown) => this.#greet(message));
    this.#piscina.on("error", () => {});
    // Also where nobody ends it: Piscina would start another in its place.
    this.#piscina.on("workerDestroy", () => this.end());
    this.#worker.once("error", (error: unknown) => (this.#error = error));
    this.#worker.once("exit", () => this.#exit());
    this.#piscina.run(null).catch((error: unknown) => {
      if (this.#isEnding) return;
      // Without the paths that are in it.
      this.#error ??= new Error(`it could not be set up${codeOf(error)}`);
      this.end();
    });
  }

  forward(text: string): void {
    this.#port?.postMessage(text);
  }

  /** What has not begun never will. @param most unless null: not where more have begun */
  recall(most: number | null): void {
    if (most === null) return this.#recall();
    if (this.#isEnding || !recallUnbegun(this.#claims, this.#round, most)) return;
    this.#round += UNBEGUN_ROUNDS;
    this.#options.tell({ type: "recalled", thread: this.#options.number, begun: most });
    this.end();
  }

  #recall(): void {
    const begun = recall(this.#claims, this.#round);
    this.#round += 1;
    this.#options.tell({ type: "recalled", thread: this.#options.number, begun });
  }

  /** Measured since it was last asked; Deno does not tell: whether its event loop has had no rest for a while. */
  isRestless(): boolean {
    if (IS_DENO) return false;
    const { performance } = this.#worker;
    const load = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(load, this.#load);
    this.#load = load;
    this.#restlessTimes = utilization > RESTLESS ? this.#restlessTimes + 1 : 0;
    return this.#restlessTimes >= RESTLESS_TIMES;
  }

  /** Terminates it. */
  end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#drain();
    this.#recall();
    // Where that fails the thread stays, and the server ends the runner.
    this.#piscina.destroy().catch(() => {});
  }

  #exit(): void {
    this.#isEnding = true;
    this.#drain();
    const { number, spec } = this.#options;
    const message = causeOf(this.#error, spec.memory_mb);
    this.#options.tell({
      type: "exited",
      thread: number,
      begun: countBegun(this.#claims),
      message,
    });
    this.#options.onExit();
  }

  /** Takes what the thread has sent and the event loop has not delivered yet, up to a limit. */
  #drain(): void {
    for (let left = MOST_DRAINED; left > 0 && this.#port !== null; left -= 1) {
      const next = takeNext(this.#port);
      if (next === undefined) return;
      this.#forwardBack(next.message);
    }
  }

  /** A flow that got hold of its thread's channel could send any number of ports: one counts. */
  #greet(message: unknown): void {
    const { number, line } = this.#options;
    if (line !== null || this.#port !== null || !isRecord(message)) return;
    const { port } = message;
    if (!(port instanceof MessagePort)) return;
    this.#port = port;
    listen(port, (from) => this.#forwardBack(from));
    this.#options.tell({ type: "started", thread: number });
  }

  /** The server looks at it; what is no text, or too long, was made by its flow. */
  #forwardBack(text: unknown): void {
    if (typeof text !== "string") return;
    // A longer frame would end the channel, for all.
    if (excessBytes(text) !== null) this.#endMuted();
    else this.#options.tell({ type: "told", thread: this.#options.number, text });
  }

  /** Nobody learns what it had to say: its run fails, and no other. */
  #endMuted(): void {
    this.#error ??= new Error("what it had to tell is longer than can be told here");
    this.end();
  }
}

/** Why a run of a thread that is gone has failed. */
export function causeOf(error: unknown, memory_mb: number): string {
  if (!(error instanceof Error)) return "The flow's thread was lost";
  if (Reflect.get(error, "code") === "ERR_WORKER_OUT_OF_MEMORY") {
    return `Out of memory: the flow used more than ${memory_mb} MB (memory_mb)`;
  }
  // Whoever calls the flow is told.
  if (/[/\\]/.test(error.message)) return `The flow's thread was lost${codeOf(error)}`;
  return `The flow's thread was lost: ${error.message}`;
}

/** ` (ENOENT)` where the system has told one, before any path; else nothing. */
function codeOf(error: unknown): string {
  const [before = ""] = String(error).split(/['"/\\]/, 1);
  const [code] = /\bE[A-Z]{3,}\b/.exec(before) ?? [];
  return code === undefined ? "" : ` (${code})`;
}

/** undefined: nothing has come. What cannot be read has no message in it. */
function takeNext(port: MessagePort): { readonly message: unknown } | undefined {
  try {
    return receiveMessageOnPort(port);
  } catch {
    return { message: null };
  }
}
