import type { ServerResponse } from "node:http";

/** Smaller ones are not counted, in bytes: a connection holds as much of a request. */
const SMALL = 16 * 1024;

/** Is told of each answer once all of it is given to its connection. */
export type NoteAnswer = (outgoing: ServerResponse) => void;

/** An answer that its client has not read to its end. */
interface Unread {
  readonly outgoing: ServerResponse;
  readonly bytes: number;
}

/** What one client has not read; the oldest answer comes first. */
interface UnreadOfClient {
  bytes: number;
  readonly answers: Set<Unread>;
}

/**
 * Bounds what answers hold until their clients have read them: anybody can ask for the result of one
 * execution as often as they like, and read none of them. Beyond the budget the client that holds
 * most loses what it was sent first, with its connection.
 *
 * @param budget bytes of all of them together; one alone may have more
 * @param clientOf whose answer it is
 * @param onLetGo is told a client that loses one
 */
export function boundUnread(
  budget: number,
  clientOf: (outgoing: ServerResponse) => string,
  onLetGo: (client: string) => void,
): NoteAnswer {
  const clients = new Map<string, UnreadOfClient>();
  let bytes = 0;

  function add(client: string, unread: Unread): void {
    const own = clients.get(client) ?? { bytes: 0, answers: new Set() };
    clients.set(client, own);
    own.answers.add(unread);
    own.bytes += unread.bytes;
    bytes += unread.bytes;
  }

  function remove(client: string, unread: Unread): void {
    const own = clients.get(client);
    if (own?.answers.delete(unread) !== true) return;
    own.bytes -= unread.bytes;
    bytes -= unread.bytes;
    if (own.answers.size === 0) clients.delete(client);
  }

  /** @returns whether there was one beside the newest */
  function letGo(newest: Unread): boolean {
    for (const [client, { answers }] of [...clients].toSorted(
      ([, a], [, b]) => b.bytes - a.bytes,
    )) {
      const [oldest = newest] = answers;
      if (oldest === newest) continue;
      remove(client, oldest);
      oldest.outgoing.req.socket.destroy();
      onLetGo(client);
      return true;
    }
    return false;
  }

  return (outgoing) => {
    const unread = { outgoing, bytes: outgoing.writableLength };
    if (unread.bytes <= SMALL || outgoing.closed) return;
    const client = clientOf(outgoing);
    add(client, unread);
    outgoing.once("close", () => remove(client, unread));
    while (bytes > budget && letGo(unread));
  };
}
