/** Of what a runner had when it ended; how it did completes this. */
export const LOST = "Lost with its runner, ";

/** How a process ended that nobody here had ended, and the likely cause. */
export function howItEnded(code: number | null, signal: string | null): string {
  if (signal === "SIGABRT" || code === 134)
    return "which ended with SIGABRT: most likely its memory ran out";
  if (signal === "SIGKILL")
    return "which was killed from outside: most likely the system ran out of memory";
  return signal === null ? `which ended with exit code ${code}` : `which ended with ${signal}`;
}
