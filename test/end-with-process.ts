/** Runs when this process ends, also where a signal ends it, of which no exit is told. */
export function endWithProcess(end: () => void): void {
  process.once("exit", end);
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const)
    process.once(signal, () => {
      end();
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
}
