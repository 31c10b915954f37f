import { setTimeout as pause } from "node:timers/promises";
import { HEARTBEAT_MS } from "../shared/contract/event-stream.ts";
import type { Execution, ExecutionSummary, LogLine } from "../shared/contract/execution.ts";
import { isEnded } from "../shared/contract/status.ts";
import { readJson, RefusedFailure, toPath, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import { readEvents } from "./event-reader.ts";
import { readLog } from "./execution-log.ts";
import { toLine, toLines } from "./table.ts";
import { UnansweredError, UnreachableError } from "./unsent-request.ts";

/** A stream that broke is asked for again after so long, in milliseconds: as the service advises. */
const RETRY_MS = 2000;

/** A stream that has told nothing for so long, in milliseconds, hangs. */
const SILENT_MS = 3 * HEARTBEAT_MS;

/** After so long without a stream, in milliseconds, people wonder whether anything happens. */
const TELL_MS = 5000;

/** After so long without a stream, in milliseconds, there will be none. */
const LOST_MS = 120_000;

/** The service never redirects a stream; a proxy may do so to a path beside it. */
const MOST_REDIRECTS = 10;

const BROKEN = "The connection for the execution broke";

export interface Following {
  /** Ends it: what runs then throws. */
  readonly signal: AbortSignal;
  /** Takes each line of the log once, in order. */
  take(line: LogLine): void;
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
  const reason = await followStreams(stream, following.signal);
  if (reason === null) return;
  process.stderr.write(
    `${toLines(reason)}\nThe log cannot be followed: its lines come at the end\n`,
  );
  await waitForEnd(client, id, following.signal);
  const lines = await readLog(client, id);
  following.signal.throwIfAborted();
  for (const line of lines.slice(stream.count)) following.take(line);
}

/** @returns why there is no stream; null once the execution has ended */
async function followStreams(stream: LogStream, signal: AbortSignal): Promise<string | null> {
  let isTold = false;
  for (;;) {
    const failure = await stream.read().catch((error: unknown) => toTransient(error, signal));
    if (failure === null) return null;
    const { message } = failure;
    // Too many streams are open: they may be for longer than the execution runs.
    if (failure instanceof RefusedFailure && !stream.wasOpen) return message;
    const silentMs = performance.now() - stream.heardAt;
    if (silentMs > LOST_MS && isUnreached(failure)) throw failure;
    if (silentMs > LOST_MS) return message;
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
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), SILENT_MS);
    const signal = AbortSignal.any([this.#following.signal, silence.signal]);
    const begunAt = performance.now();
    try {
      const hasEnded = await this.#readAll(await this.#open(signal), () => timer.refresh());
      return hasEnded ? null : new CommandError(BROKEN);
    } catch (error) {
      if (!silence.signal.aborted) throw error;
      throw new CommandError(`No event of ${this.#client.url} within ${SILENT_MS / 1000} s`);
    } finally {
      clearTimeout(timer);
      // One that is closed at once, again and again, tells nothing.
      if (performance.now() - begunAt > TELL_MS && this.wasOpen) this.heardAt = performance.now();
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

/**
 * Waits for the end of an execution, over broken connections: it goes on though its service is away.
 *
 * @throws CommandError where the service refuses, or cannot be reached any more
 */
export async function waitForEnd(
  client: Client,
  id: string,
  signal: AbortSignal,
): Promise<Execution> {
  /** Since when there has been no answer, as performance.now(). */
  let brokeAt: number | null = null;
  let isTold = false;
  for (;;) {
    const found = await waitOnce(client, id, signal).catch((error: unknown) =>
      toTransient(error, signal),
    );
    if (found === null) brokeAt = null;
    if (found === null) continue;
    if (!(found instanceof CommandError)) return found;
    brokeAt ??= performance.now();
    const brokenMs = performance.now() - brokeAt;
    if (brokenMs > LOST_MS) throw found;
    if (brokenMs > TELL_MS && !isTold) {
      process.stderr.write(`${toLines(found.message)}\nThe execution is asked for every 2 s\n`);
      isTold = true;
    }
    await pause(RETRY_MS, undefined, { signal });
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
