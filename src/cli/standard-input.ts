/**
 * All of standard input, however long its writer takes. Not by its descriptor: a module that imports
 * `node:process` opens a pipe, and then a read fails that would have to wait.
 */
export async function readStandardInput(): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const part of process.stdin) parts.push(part as Uint8Array);
  return Buffer.concat(parts);
}

/** The same as a text, without the line break that `echo` puts at its end. */
export async function readInputLine(): Promise<string> {
  return (await readStandardInput()).toString().replace(/\r?\n$/, "");
}
