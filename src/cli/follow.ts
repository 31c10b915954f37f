import { setTimeout as pause } from "node:timers/promises";
import { HEARTBEAT_MS } from "../shared/contract/event-stream.ts";
import type { Execution, ExecutionSummary, LogLine } from "../shared/contract/execution.ts";
import { isEnded } from "../shared/contract/status.ts";
import { readJson, RefusedFailure, toPath, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import { readEvents } from "./event-reader.ts";
import { readLog } from "./execution-log.ts";
import { toLine, toLines } from "./table.ts";
import { ANSWER_MS, UnansweredError, UnreachableError } from "./unsent-request.ts";

/** A stream that broke is asked for again after so long, in milliseconds: as the service advises. */
const RETRY_MS = 2000;

/** After so long without a stream, in milliseconds, people wonder whether anything happens. */
const TELL_MS = 5000;

/** How long something is waited for, in milliseconds. */
export interface FollowLimits {
  /** A stream that has told nothing for so long hangs. */
  readonly silentMs: number;
  /** A wait without an answer for so long may hang, or its service is configured to hold it longer. */
  readonly legMs: number;
  /** A service that lives answers at once whether the execution has ended. */
  readonly answerMs: number;
  /** After so long without a stream, or an answer, there will be none. */
  readonly lostMs: number;
}

const LIMITS: FollowLimits = {
  silentMs: 3 * HEARTBEAT_MS,
  legMs: 35_000,
  answerMs: ANSWER_MS,
  lostMs: 120_000,
};

/** The service never redirects a stream; a proxy may do so to a path beside it. */
const MOST_REDIRECTS = 10;

const BROKEN = "The connection for the execution broke";

export interface Following {
  /** Ends it: what runs then throws. */
  readonly signal: AbortSignal;
  /** Takes each line of the log once, in order. */
  take(line: LogLine): void;
  readonly limits?: FollowLimits;
}

/**
 * Gives the log of an execution, what there is and then each line as it comes, until the execution has
 * ended. After a broken connection it goes on behind the last line, at whichever node answers.
 * Where no stream can be had, the lines come at the end.
 *
 * @throws CommandError where the service refuses, or cannot be reached any more
 */
export async function followLog(client: Client, id: string, following: Following): Promise<void> {
  const stream = new LogStream(client, id, following);
  const { signal, limits = LIMITS } = following;
  const reason = await followStreams(stream, signal, limits);
  if (reason === null) return;
  process.stderr.write(
    `${toLines(reason)}\nThe log cannot be followed: its lines come at the end\n`,
  );
  await waitForEnd(client, id, signal, limits);
  const lines = await readLog(client, id);
  signal.throwIfAborted();
  for (const line of lines.slice(stream.count)) following.take(line);
}

/** @returns why there is no stream; null once the execution has ended */
async function followStreams(
  stream: LogStream,
  signal: AbortSignal,
  { lostMs }: FollowLimits,
): Promise<string | null> {
  let isTold = false;
  for (;;) {
    const failure = await stream.read().catch((error: unknown) => toTransient(error, signal));
    if (failure === null) return null;
    const { message } = failure;
    // Too many streams are open: they may be for longer than the execution runs.
    if (failure instanceof RefusedFailure && !stream.wasOpen) return message;
    const silentMs = performance.now() - stream.heardAt;
    if (silentMs > lostMs && isUnreached(failure)) throw failure;
    if (silentMs > lostMs) return message;
    if (silentMs > TELL_MS && !isTold) {
      process.stderr.write(`${toLines(message)}\nThe log is asked for again every 2 s\n`);
      isTold = true;
    }
    await pause(RETRY_MS, undefined, { signal });
  }
}

function isUnreached(failure: CommandError): boolean {
  return failure instanceof UnreachableError || failure instanceof UnansweredError;
}

/** @throws the error itself where asking again does not help */
function toTransient(error: unknown, signal: AbortSignal): CommandError {
  signal.throwIfAborted();
  if (isFinal(error)) throw error;
  return error instanceof CommandError ? error : new CommandError(BROKEN);
}

/** Of a login that has ended, an execution that is not there any more, a redirect to elsewhere. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof RefusedFailure))
    return error instanceof CommandError && error.exitCode !== 1;
  return error.status < 500 && error.status !== 429;
}

class LogStream {
  readonly #client: Client;
  readonly #following: Following;
  readonly #path: string;
  /** The id of the last line's event. */
  #after = "0";
  /** How many lines were taken. */
  count = 0;
  wasOpen = false;
  /** When something came last, as performance.now(). */
  heardAt = performance.now();

  constructor(client: Client, id: string, following: Following) {
    this.#client = client;
    this.#following = following;
    this.#path = `${toPath("execution", id)}/events`;
  }

  /** Reads one stream to its end. @returns what went wrong; null: the execution has ended */
  async read(): Promise<CommandError | null> {
    const { signal: stop, limits: { silentMs } = LIMITS } = this.#following;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), silentMs);
    const signal = AbortSignal.any([stop, silence.signal]);
    let openedAt = Infinity;
    try {
      const body = await this.#open(signal);
      openedAt = performance.now();
      const hasEnded = await this.#readAll(body, () => timer.refresh());
      return hasEnded ? null : new CommandError(BROKEN);
    } catch (error) {
      if (!silence.signal.aborted) throw error;
      if (openedAt === Infinity) throw toUnanswered(this.#client, silentMs);
      throw new CommandError(`No event of ${this.#client.url} within ${silentMs / 1000} s`);
    } finally {
      clearTimeout(timer);
      // One that is closed at once, again and again, tells nothing; nor does one that hangs.
      if (performance.now() - openedAt > TELL_MS && !silence.signal.aborted)
        this.heardAt = performance.now();
    }
  }

  async #readAll(body: ReadableStream<Uint8Array>, heard: () => void): Promise<boolean> {
    let hasEnded = false;
    this.wasOpen = true;
    for await (const { id, event, data } of readEvents(body, heard)) {
      this.heardAt = performance.now();
      if (event === "status") hasEnded = isEnded((JSON.parse(data) as ExecutionSummary).status);
      if (event !== "log") continue;
      this.#following.take(JSON.parse(data) as LogLine);
      this.#after = id;
      this.count += 1;
    }
    return hasEnded;
  }

  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const options = { mayRedirect: true, eventsAfter: this.#after, signal } as const;
    const base = `${this.#client.url}/api/latest`;
    let path = this.#path;
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects += 1) {
      const answer = await this.#client.request("GET", path, options);
      if (answer.status === 200 && answer.body !== null) return answer.body;
      await answer.body?.cancel();
      const location = answer.headers.get("location") ?? "";
      const target = URL.parse(location, answer.url)?.href ?? "";
      // A token goes to no other service.
      if (!target.startsWith(`${base}/`))
        throw new RefusedFailure(
          `The log of the execution was sent to "${toLine(location)}", which is not at ${base}`,
          answer.status,
        );
      path = target.slice(base.length);
    }
    throw new RefusedFailure(`The log was redirected more than ${MOST_REDIRECTS} times`, 310);
  }
}

function toUnanswered({ url }: Client, limitMs: number): UnansweredError {
  return new UnansweredError(`No answer of ${url} within ${limitMs / 1000} s`);
}

/**
 * Waits for the end of an execution, over broken connections: it goes on though its service is away.
 *
 * @throws CommandError where the service refuses, or cannot be reached any more
 */
export async function waitForEnd(
  client: Client,
  id: string,
  signal: AbortSignal,
  limits = LIMITS,
): Promise<Execution> {
  /** Since when there has been no answer, as performance.now(). */
  let brokeAt: number | null = null;
  let isTold = false;
  for (;;) {
    const sentAt = performance.now();
    const found = await findEnd(client, id, signal, limits).catch((error: unknown) =>
      toTransient(error, signal),
    );
    if (found === null) brokeAt = null;
    if (found === null) continue;
    if (!(found instanceof CommandError)) return found;
    const now = performance.now();
    // What was waited for in vain has been away since then.
    brokeAt ??= now - sentAt < limits.legMs ? now : sentAt;
    const brokenMs = now - brokeAt;
    if (brokenMs > limits.lostMs) throw found;
    if (brokenMs > TELL_MS && !isTold) {
      process.stderr.write(`${toLines(found.message)}\nThe execution is asked for every 2 s\n`);
      isTold = true;
    }
    await pause(RETRY_MS, undefined, { signal });
  }
}

/** Waits for one leg. @returns null where it has not ended */
async function findEnd(
  client: Client,
  id: string,
  signal: AbortSignal,
  { legMs, answerMs }: FollowLimits,
): Promise<Execution | null> {
  const leg = AbortSignal.timeout(legMs);
  try {
    return await waitOnce(client, id, AbortSignal.any([signal, leg]));
  } catch (error) {
    if (!leg.aborted || signal.aborted) throw error;
  }
  const late = AbortSignal.timeout(answerMs);
  try {
    const options = { has: "status", signal: AbortSignal.any([signal, late]) } as const;
    const found = await client.json<Execution>("GET", toPath("execution", id), options);
    return isEnded(found.status) ? found : null;
  } catch (error) {
    throw late.aborted ? toUnanswered(client, answerMs) : error;
  }
}

/**
 * Asks the wait endpoint: 302 to itself after each poll window, 200 at the end.
 *
 * @returns null where it has not ended
 * @throws CommandError for a redirect to elsewhere, which would be asked again for ever
 */
async function waitOnce(
  client: Client,
  id: string,
  signal: AbortSignal,
): Promise<Execution | null> {
  const path = `${toPath("execution", id)}/wait`;
  const answer = await client.request("GET", path, { mayRedirect: true, signal });
  if (answer.status === 200) return (await readJson(answer, client.url)) as Execution;
  await answer.body?.cancel();
  const location = answer.headers.get("location") ?? "";
  if (URL.parse(location, answer.url)?.pathname.endsWith(path)) return null;
  const elsewhere = `The wait for ${id} was sent to "${toLine(location)}"`;
  throw new RefusedFailure(elsewhere, answer.status);
}
