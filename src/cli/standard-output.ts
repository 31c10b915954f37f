import { fstatSync, writeSync } from "node:fs";

/** What becomes of the output of a command. */
export interface StandardOutput {
  /** Resolves once all of it has left; the reason where it could not, or null. */
  readonly end: () => Promise<string | null>;
}

/**
 * Follows standard output: what is lost on a full disk is an error of the command. A reader that is
 * gone (`flowhook execution list | head`), or a terminal, wants no more: that is none.
 */
export function watchStandardOutput(): StandardOutput {
  let reason: string | null = null;
  process.stdout.on("error", ({ code, message }: NodeJS.ErrnoException) => {
    const isGone = code === "EPIPE" || (code === "EIO" && process.stdout.isTTY);
    if (!isGone) reason ??= message;
  });
  // Nobody is left to be told.
  process.stderr.on("error", () => {});
  if (isFile()) writeWhole(process.stdout);
  const end = async () => {
    await new Promise((done) => process.stdout.write("", done));
    return reason;
  };
  return { end };
}

function isFile(): boolean {
  try {
    return fstatSync(1).isFile();
  } catch {
    return false;
  }
}

/** The runtime takes a write to a file for whole of which the disk has taken a part. */
function writeWhole(stream: NodeJS.WriteStream): void {
  stream._write = (chunk: Uint8Array, _encoding, done) => {
    try {
      for (let at = 0; at < chunk.length;) at += writeSync(1, chunk, at);
      done();
    } catch (error) {
      done(error as Error);
    }
  };
}
