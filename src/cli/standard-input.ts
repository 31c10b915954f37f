import { readFileSync } from "node:fs";
import { isatty } from "node:tty";

/**
 * All of standard input, however long its writer takes. Not of a pipe by its descriptor: a module that
 * imports `node:process` opens it, and then a read fails that would have to wait. Of a terminal only
 * so: a question may follow, which nobody could answer once the stream has ended.
 */
export async function readStandardInput(): Promise<Buffer<ArrayBuffer>> {
  if (isatty(0)) return readFileSync(0);
  const parts: Uint8Array[] = [];
  for await (const part of process.stdin) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

/** The same as a text, without the line break that `echo` puts at its end. */
export async function readInputLine(): Promise<string> {
  return (await readStandardInput()).toString().replace(/\r?\n$/, "");
}
