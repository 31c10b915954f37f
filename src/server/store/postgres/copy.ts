import { once } from "node:events";
import type { Client, Connection, Submittable } from "pg";

/** COPY of PostgreSQL (Frontend/Backend Protocol, COPY operations), for which the driver has no words. */

interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** One COPY statement, as the driver runs it: it calls these by name. */
class Copy implements Submittable {
  readonly #text: string;
  readonly #take: (chunk: Buffer) => void;
  readonly #started = Promise.withResolvers<CopyConnection>();
  readonly #ended = Promise.withResolvers<void>();

  constructor(text: string, take: (chunk: Buffer) => void = () => {}) {
    this.#text = text;
    this.#take = take;
    // Whoever sends hears of it at the end.
    this.#started.promise.catch(() => {});
    this.#ended.promise.catch(() => {});
  }

  /** When it takes rows. @throws {Error} of PostgreSQL or of the connection */
  get started(): Promise<CopyConnection> {
    return this.#started.promise;
  }

  /** @throws {Error} of PostgreSQL or of the connection */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#started.resolve(connection);
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    this.#take(chunk);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#ended.resolve();
  }

  handleError(error: Error): void {
    this.#started.reject(error);
    this.#ended.reject(error);
  }
}

/** Sends rows to `copy ... from stdin`, no faster than they are taken. @throws {Error} */
export async function copyIn(
  client: Client,
  text: string,
  chunks: Iterable<Uint8Array>,
): Promise<void> {
  const copy = client.query(new Copy(text));
  const connection = await copy.started;
  try {
    for (const chunk of chunks) {
      connection.sendCopyFromChunk(chunk);
      const { stream } = connection;
      if (stream.writableNeedDrain) await Promise.race([once(stream, "drain"), copy.ended]);
    }
    connection.endCopyFrom();
  } catch (error) {
    connection.sendCopyFail("The rows cannot be read");
    await copy.ended.catch(() => {});
    throw error;
  }
  await copy.ended;
}

/** @param take each row of `copy ... to stdout`, with its end of line @throws {Error} */
export async function copyOut(
  client: Client,
  text: string,
  take: (chunk: Buffer) => void,
): Promise<void> {
  await client.query(new Copy(text, take)).ended;
}
