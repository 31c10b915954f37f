import type { Log } from "../shared/log.ts";

/**
 * The last net below everything that is caught where it is thrown: an error that nobody took is
 * logged, and the service goes on. One caller's fault must not cost all others their answers.
 */
export function logStrayErrors(log: Log): void {
  const report = (error: unknown): void => {
    // The log's own reader is gone: to log that would fail again.
    if (error instanceof Error && Reflect.get(error, "code") === "EPIPE") return;
    log.error({ err: error }, "An error was not caught; the service goes on");
  };
  process.on("uncaughtException", report);
  process.on("unhandledRejection", report);
}
