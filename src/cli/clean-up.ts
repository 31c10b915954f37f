/** Signals that end a command: Ctrl-C, a stop, and a terminal that was closed. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Cleans up where a signal ends the command before what it does is done; it ends by that signal all
 * the same. What runs without a pause is finished first.
 */
export function cleanUpAtSignals(cleanUp: () => void): Disposable {
  const take = (signal: NodeJS.Signals): void => {
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
