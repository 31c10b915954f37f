import { toOptions, type ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";

/** Ctrl-C ended a command that had more to do. */
export class InterruptedError extends CommandError {
  constructor(message: string) {
    super(message, 130);
  }
}

/**
 * Does what Ctrl-C stops; a second one ends the process.
 *
 * @param message what is said after Ctrl-C
 * @throws InterruptedError where it was stopped
 */
export async function untilInterrupted<T>(
  message: string,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once("SIGINT", interrupt);
  try {
    return await act(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    // A terminal shows ^C, and stays in that line.
    throw new InterruptedError(`${process.stderr.isTTY ? "\n" : ""}${message}`);
  } finally {
    process.off("SIGINT", interrupt);
  }
}

/** For whoever stops looking at an execution of a service. */
export function describeGoingOn(id: string, url: string, options: ConnectionOptions): string {
  const more = toOptions(options);
  return [
    `Execution ${id} goes on at ${url}`,
    `Follow it: flowhook execution show ${id} --follow${more}`,
    `Cancel it: flowhook execution cancel ${id}${more}`,
  ].join("\n");
}
