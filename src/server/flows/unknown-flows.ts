/** Between two questions for one flow, in milliseconds. */
const AGAIN_MS = 1000;
/** Longest wait for a flow to be taken up, in milliseconds. */
const TAKE_MS = 5000;
/** Flows that are remembered; more are asked for anew. */
const MOST_FLOWS = 1000;

interface Question {
  /** As performance.now(). */
  readonly at: number;
  readonly answered: Promise<void>;
}

/** Asks other nodes for flows that this one does not know, however often they are called for. */
export class UnknownFlows {
  readonly #ask: () => Promise<void>;
  readonly #questions = new Map<string, Question>();

  /** @param ask resolves when what other nodes offer now has been taken up */
  constructor(ask: () => Promise<void>) {
    this.#ask = ask;
  }

  /** Resolves when the others were asked for it, within the last second or now. */
  ask(flow: string): Promise<void> {
    const at = performance.now();
    const last = this.#questions.get(flow);
    if (last !== undefined && at - last.at < AGAIN_MS) return last.answered;
    if (this.#questions.size >= MOST_FLOWS) this.#questions.clear();
    const answered = within(TAKE_MS, this.#ask());
    this.#questions.set(flow, { at, answered });
    return answered;
  }
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  work.then(resolve, resolve);
  await promise;
  clearTimeout(timer);
}
