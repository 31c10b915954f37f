import type { Readable } from "node:stream";
import type { Log } from "../../shared/log.ts";

/** Pieces of what one runner prints that are kept in the log. */
const MAX_PIECES = 100;
const MAX_PIECE = 2_000;

/** How the log names it. */
export const PRINTED = "A runner printed";

/** A runner has nothing to print: what it does is the runtime's, or a thread's past its console. */
export function logPrinted(stream: Readable | null, pid: number, log: Log): void {
  let left = MAX_PIECES;
  // Read to the end in any case: a full pipe would stop the runner.
  stream?.setEncoding("utf8").on("data", (text: string) => {
    if (left > 0) log.warn({ pid, text: text.slice(0, MAX_PIECE) }, PRINTED);
    left -= 1;
  });
}
