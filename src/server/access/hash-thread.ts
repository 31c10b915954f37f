import { Buffer } from "node:buffer";
import type { Argon2Parameters } from "node:crypto";
import { Worker } from "node:worker_threads";

/** It holds some 10 MB, so it goes when nothing has come for so long, in milliseconds. */
const IDLE_MS = 10_000;

const PROGRAM = `
const { parentPort } = require("node:worker_threads");
const { argon2Sync } = require("node:crypto");
parentPort.on("message", (parameters) => parentPort.postMessage(argon2Sync("argon2id", parameters)));
`;

/** It has no files and no network. */
const FLAGS = ["--permission"];

/**
 * Makes argon2id hashes, one after the other, in a thread that is there as long as some come. The
 * allocator keeps for each thread what that has freed: the four that the runtime does such work
 * in, and reads files in, would hold up to 130 MB after some logins.
 */
export class HashThread {
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | undefined;
  /** In the order in which they were asked for. */
  #waiting: PromiseWithResolvers<Buffer>[] = [];

  /** @throws Error where the thread was lost */
  hash(parameters: Argon2Parameters): Promise<Buffer> {
    const worker = (this.#worker ??= this.#start());
    clearTimeout(this.#idle);
    worker.ref();
    worker.postMessage(parameters);
    const waiting = Promise.withResolvers<Buffer>();
    this.#waiting.push(waiting);
    return waiting.promise;
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, {
      name: "password",
      eval: true,
      env: {},
      execArgv: FLAGS,
    });
    worker.on("message", (hash: Uint8Array) => this.#answer(worker, hash));
    worker.on("error", (error: Error) => this.#lose(worker, error));
    worker.once("exit", () => this.#lose(worker, new Error("The password's thread has ended")));
    return worker;
  }

  #answer(worker: Worker, hash: Uint8Array): void {
    this.#waiting.shift()?.resolve(Buffer.from(hash));
    if (this.#waiting.length > 0) return;
    worker.unref();
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    worker?.terminate().catch(() => {});
  }

  #lose(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const lost = this.#waiting;
    this.#waiting = [];
    for (const { reject } of lost) reject(error);
  }
}
