import { Worker } from "node:worker_threads";

/** How long the texts of one version may take, in milliseconds. */
const MOST_MS = 2000;
/** It holds some 30 MB, so it goes when nothing has come for so long, in milliseconds. */
const IDLE_MS = 5000;

/**
 * A text with a fault is left to the thread that loads it, whose error says what is wrong. Whatever
 * else fails has broken the stripper for all that come after: the thread ends.
 */
const PROGRAM = `
const { parentPort } = require("node:worker_threads");
const { stripTypeScriptTypes } = require("node:module");
const FAULTS = ["ERR_INVALID_TYPESCRIPT_SYNTAX", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"];
function strip(text) {
  try { return stripTypeScriptTypes(text); }
  catch (error) { if (FAULTS.includes(error.code)) return null; throw error; }
}
strip("");
parentPort.on("message", (texts) => parentPort.postMessage(texts.map(strip)));
`;

/** Nothing of a flow runs in it; all the same it has no files and no network. */
const FLAGS = ["--permission", "--disable-warning=ExperimentalWarning"];

type Stripped = readonly (string | null)[];

/** A thread that takes the types out of texts, there as long as some come. */
export class StripThread {
  #worker: Worker | null = null;
  #timer: NodeJS.Timeout | undefined;
  #done: (stripped: Stripped) => void = () => {};

  /** Before the first texts, where some will come: it takes as long as a runner to start. */
  start(): void {
    this.#worker ??= this.#start();
    this.#worker.unref();
    this.#endAfter(IDLE_MS);
  }

  /**
   * One call at a time.
   * @returns null for a text that it cannot read; empty where it took too long
   */
  async strip(texts: readonly string[]): Promise<Stripped> {
    const { promise, resolve } = Promise.withResolvers<Stripped>();
    this.#done = resolve;
    const worker = (this.#worker ??= this.#start());
    this.#endAfter(MOST_MS);
    worker.ref();
    worker.postMessage(texts);
    const stripped = await promise;
    worker.unref();
    this.#endAfter(IDLE_MS);
    return stripped;
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { eval: true, env: {}, execArgv: FLAGS });
    worker.on("message", (stripped: Stripped) => this.#done(stripped));
    worker.on("error", () => {});
    worker.once("exit", () => {
      this.#worker = null;
      this.#done([]);
    });
    return worker;
  }

  #endAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#worker?.terminate().catch(() => {});
    }, ms).unref();
  }
}
