import { connect, type Socket } from "node:net";
import type { Origin } from "../blackbox/client.ts";
import { HUNG_MS } from "../hung.ts";

/** One answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  /** Names in lower case, in the order in which they came, repeated ones apart. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
  /** Whether the connection can be used again. */
  readonly isOpen: boolean;
}

/**
 * A connection that is kept and used again: what one answer leaves behind would be taken for the
 * beginning of the next.
 */
export class Wire {
  readonly #origin: Origin;
  #socket: Socket | null = null;
  #received = Buffer.alloc(0);
  #wake: (() => void) | null = null;
  #isClosed = false;
  /** Connections that were opened so far. */
  connections = 0;

  constructor(origin: Origin) {
    this.#origin = origin;
  }

  /** Sends bytes as they are and reads one whole answer, bounded in time. */
  async exchange(bytes: string | Buffer, isHead = false): Promise<WireAnswer> {
    const socket = this.#open();
    socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    const timer = setTimeout(() => socket.destroy(new Error("No answer")), HUNG_MS);
    try {
      return await this.#read(isHead);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    if (this.#socket !== null && !this.#isClosed) return this.#socket;
    this.#received = Buffer.alloc(0);
    this.#isClosed = false;
    this.connections += 1;
    const socket = connect(this.#origin.port, this.#origin.host);
    socket.on("data", (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake?.();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (socket !== this.#socket) return;
      this.#isClosed = true;
      this.#wake?.();
    });
    this.#socket = socket;
    return socket;
  }

  async #read(isHead: boolean): Promise<WireAnswer> {
    for (;;) {
      const end = this.#received.indexOf("\r\n\r\n");
      if (end >= 0) {
        const { status, headers } = readHead(this.#received.toString("latin1", 0, end));
        this.#received = this.#received.subarray(end + 4);
        if (status >= 100 && status < 200) continue;
        const body = await this.#body(status, headers, isHead);
        const isOpen = !this.#isClosed && find(headers, "connection") !== "close";
        if (!isOpen) this.close();
        return { status, headers, body, isOpen };
      }
      await this.#more();
    }
  }

  async #body(status: number, headers: WireAnswer["headers"], isHead: boolean): Promise<Buffer> {
    if (isHead || status === 204 || status === 304) return Buffer.alloc(0);
    if (find(headers, "transfer-encoding") === "chunked") return this.#chunks();
    const length = find(headers, "content-length");
    if (length !== undefined) return this.#take(Number(length));
    while (!this.#isClosed) await this.#wait();
    return this.#take(this.#received.length);
  }

  async #chunks(): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (;;) {
      const line = await this.#line();
      const size = Number.parseInt(line, 16);
      if (!Number.isInteger(size)) throw new Error(`"${line}" is no size of a chunk`);
      parts.push(await this.#take(size));
      await this.#line();
      if (size === 0) return Buffer.concat(parts);
    }
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#received.indexOf("\r\n");
      if (end >= 0) return (await this.#take(end + 2)).toString("latin1", 0, end);
      await this.#more();
    }
  }

  async #take(length: number): Promise<Buffer> {
    while (this.#received.length < length) await this.#more();
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    if (this.#isClosed) {
      const left = this.#received.toString("latin1", 0, 200);
      throw new Error(`The connection was closed before the end of an answer; left: "${left}"`);
    }
    await this.#wait();
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}

function readHead(text: string): Pick<WireAnswer, "status" | "headers"> {
  const [first = "", ...lines] = text.split("\r\n");
  const found = /^HTTP\/1\.1 (\d{3})( |$)/.exec(first);
  if (found === null) throw new Error(`"${first}" is no status line`);
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`"${line}" is no header`);
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(found[1]), headers };
}

export function find(headers: WireAnswer["headers"], name: string): string | undefined {
  return headers.find(([other]) => other === name)?.[1];
}

/** A request with its head; a body gets its length unless the headers tell of it. */
export function toRequest(
  method: string,
  target: string,
  headers: readonly (readonly [string, string])[] = [],
  body: Buffer | null = null,
): Buffer {
  const isTold = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const length: readonly (readonly [string, string])[] =
    body === null || isTold ? [] : [["Content-Length", String(body.length)]];
  const lines = [["Host", "service.test"] as const, ...headers, ...length].map((pair) =>
    pair.join(": "),
  );
  const head = [`${method} ${target} HTTP/1.1`, ...lines, "", ""].join("\r\n");
  return Buffer.concat([Buffer.from(head, "latin1"), body ?? Buffer.alloc(0)]);
}
