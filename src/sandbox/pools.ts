import type {
  FlowSpec,
  FromRunner,
  Job,
  OperationAnswer,
  OperationRequest,
  RunnerSetup,
} from "../runner/protocol.ts";
import { Pool } from "./pool.ts";

/** All pools of a runner: one per flow version that has run and is still warm. */
export class Pools {
  readonly #setup: RunnerSetup;
  readonly #send: (message: FromRunner) => void;
  readonly #specs = new Map<string, FlowSpec>();
  readonly #pools = new Map<string, Pool>();
  /** Of retired versions, until their last run has ended. */
  readonly #closing = new Set<Pool>();
  readonly #replies = new Map<number, (answer: OperationAnswer) => void>();
  #last = 0;

  constructor(setup: RunnerSetup, send: (message: FromRunner) => void) {
    this.#setup = setup;
    this.#send = send;
  }

  get threads(): number {
    let threads = 0;
    for (const pool of [...this.#pools.values(), ...this.#closing]) threads += pool.threads;
    return threads;
  }

  know(spec: FlowSpec): void {
    this.#specs.set(spec.key, spec);
  }

  run(key: string, job: Job, is_ahead: boolean): void {
    const pool = this.#pools.get(key) ?? this.#open(key);
    pool.run(job, is_ahead);
  }

  abort(key: string, id: string, reason: string): void {
    this.#pools.get(key)?.abort(id, reason);
    for (const pool of this.#closing) pool.abort(id, reason);
  }

  answer(number: number, answer: OperationAnswer): void {
    this.#replies.get(number)?.(answer);
    this.#replies.delete(number);
  }

  retire(key: string): void {
    const pool = this.#pools.get(key);
    pool?.close();
    if (pool !== undefined && pool.running > 0) this.#closing.add(pool);
    this.#pools.delete(key);
    this.#specs.delete(key);
  }

  /** Lets idle threads go, and whole idle pools, least recently used first, until the threads are few enough. */
  trim(): void {
    for (const pool of this.#closing) if (pool.running === 0) this.#closing.delete(pool);
    for (const pool of this.#pools.values()) pool.trim();
    let threads = this.threads;
    if (threads <= this.#setup.warm_threads) return;
    const idle = [...this.#pools].filter(([, pool]) => pool.running === 0);
    for (const [key, pool] of idle.toSorted(([, a], [, b]) => a.used_at - b.used_at)) {
      threads -= pool.threads;
      this.#pools.delete(key);
      pool.close();
      if (threads <= this.#setup.warm_threads) return;
    }
  }

  /** Lets idle threads go: one whose native calls go on does not end, and is told of as stuck. */
  endIdle(before: number): void {
    for (const pool of this.#pools.values()) pool.endIdle(before);
  }

  #open(key: string): Pool {
    const spec = this.#specs.get(key);
    if (spec === undefined) throw new Error(`No flow version "${key}" is known to this runner`);
    const ask = (request: OperationRequest, reply: (answer: OperationAnswer) => void): void => {
      this.#replies.set((this.#last += 1), reply);
      this.#send({ type: "operation", number: this.#last, request });
    };
    const pool = new Pool({ spec, setup: this.#setup, send: this.#send, ask });
    // Before it is among them: it runs nothing yet, and would be the first to go.
    this.trim();
    this.#pools.set(key, pool);
    return pool;
  }
}
