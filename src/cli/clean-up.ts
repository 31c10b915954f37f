import { isAttended } from "./attended.ts";

/** Signals that end a command: Ctrl-C, a stop, and a terminal that was closed. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Cleans up where a signal ends the command before what it does is done; it ends by that signal all
 * the same. What runs without a pause is finished first. SIGHUP ends none that has no terminal.
 */
export function cleanUpAtSignals(cleanUp: () => void): Disposable {
  // Asked now: one that was closed is a terminal no more.
  const isOnTerminal = isAttended();
  const take = (signal: NodeJS.Signals): void => {
    if (signal === "SIGHUP" && !isOnTerminal) return;
    release();
    cleanUp();
    process.kill(process.pid, signal);
  };
  const release = (): void => {
    for (const signal of SIGNALS) process.off(signal, take);
  };
  for (const signal of SIGNALS) process.on(signal, take);
  return { [Symbol.dispose]: release };
}
