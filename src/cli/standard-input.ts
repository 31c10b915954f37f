import { readFileSync } from "node:fs";
import { isatty } from "node:tty";
import { CommandError } from "./command-error.ts";

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
  return toText(await readStandardInput(), "standard input").replace(/\r?\n$/, "");
}

/** With the byte order mark, which may belong to a secret. */
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * @param where they were read
 * @param advice what is given in the place of other bytes
 * @throws CommandError (usage) where they are no UTF-8: what they became would be another text
 */
export function toText(bytes: Uint8Array, where: string, advice = "text in UTF-8"): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new CommandError(`Found bytes that are not UTF-8 in ${where}, expected ${advice}`, 2);
  }
}
