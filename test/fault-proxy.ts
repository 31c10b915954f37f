import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { reset } from "./reset.ts";

/** Stands before a server, and breaks the network between it and whoever uses it. */
export interface FaultProxy {
  /** A URL of the server, through this one. */
  through(url: string): string;
  /** Resets all connections, and each new one. */
  drop(): void;
  /**
   * Nothing comes through, either way, and nobody is told, nor that the other side has left. Bytes
   * are kept as TCP keeps them: they arrive late where the connection lives until `open`.
   */
  hold(): void;
  /** The connections that there are get nothing through, as with `hold`; new ones do. */
  strand(): void;
  /** So many bytes pass in a second, each way. */
  slow(rate: number): void;
  /** What is sent there arrives; what is answered does not, as with `hold`. */
  holdAnswers(): void;
  open(): void;
  /** Leads new connections to another server. */
  turn(url: string): void;
  close(): Promise<void>;
}

type Mode = "open" | "held" | "dropped";

const HOST = "127.0.0.1";

export async function openFaultProxy(url: string): Promise<FaultProxy> {
  let place = placeOf(url);
  const links = new Set<Link>();
  let mode: Mode = "open";
  let rate = Infinity;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    if (mode === "dropped") return reset(client);
    const link = new Link(
      client,
      () => connect({ ...place, allowHalfOpen: true }),
      () => links.delete(link),
      (bytes) => (bytes * 1000) / rate,
    );
    links.add(link);
    if (mode === "open") link.open();
  });
  server.listen(0, HOST);
  await once(server, "listening");
  const own = (server.address() as AddressInfo).port;
  return {
    through(given) {
      const changed = new URL(given);
      changed.host = `${HOST}:${own}`;
      return changed.href;
    },
    drop() {
      mode = "dropped";
      for (const link of links) link.reset();
    },
    hold() {
      mode = "held";
      for (const link of links) link.hold();
    },
    strand() {
      for (const link of links) link.hold();
    },
    slow(bytesPerSec) {
      rate = bytesPerSec;
    },
    holdAnswers() {
      for (const link of links) link.holdAnswers();
    },
    open() {
      mode = "open";
      for (const link of links) link.open();
    },
    turn(given) {
      place = placeOf(given);
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const link of links) link.reset();
      await closed;
    },
  };
}

function placeOf(url: string): { host: string; port: number } {
  const { hostname: host, port } = new URL(url);
  return { host, port: Number(port) };
}

/** One connection, and that to the server behind it, which is made once something may pass. */
class Link {
  readonly #client: Socket;
  readonly #connect: () => Socket;
  readonly #onClosed: () => void;
  /** How long so many bytes take, in milliseconds. */
  readonly #timeFor: (bytes: number) => number;
  #server: Socket | null = null;
  #isHeld = true;
  /** What one side is to be told once something may pass. */
  #untold: (() => void)[] = [];

  constructor(
    client: Socket,
    toServer: () => Socket,
    onClosed: () => void,
    timeFor: (bytes: number) => number,
  ) {
    this.#timeFor = timeFor;
    this.#client = client;
    this.#connect = toServer;
    this.#onClosed = onClosed;
    client.pause().on("error", () => client.destroy());
    client.once("close", () => this.#forget());
  }

  open(): void {
    this.#isHeld = false;
    this.#server ??= this.#reach();
    for (const tell of this.#untold.splice(0)) tell();
    this.#client.resume();
    this.#server.resume();
  }

  hold(): void {
    this.#isHeld = true;
    this.#client.pause();
    this.#server?.pause();
  }

  holdAnswers(): void {
    this.#server?.pause();
  }

  reset(): void {
    reset(this.#client);
    if (this.#server !== null) reset(this.#server);
  }

  #reach(): Socket {
    const server = this.#connect();
    server.on("error", () => server.destroy());
    server.once("close", () => this.#forget());
    this.#pass(this.#client, server);
    this.#pass(server, this.#client);
    return server;
  }

  #pass(from: Socket, to: Socket): void {
    let isPassing = false;
    const resume = (): void => {
      if (!this.#isHeld && !isPassing && !to.writableNeedDrain) from.resume();
    };
    from.on("data", (bytes: Buffer) => {
      if (!to.write(bytes)) from.pause();
      const ms = this.#timeFor(bytes.length);
      if (ms < 1) return;
      isPassing = true;
      from.pause();
      setTimeout(() => {
        isPassing = false;
        resume();
      }, ms);
    });
    to.on("drain", resume);
    from.on("end", () => this.#tell(() => to.end()));
    from.once("close", () => {
      if (!from.readableEnded) this.#tell(() => reset(to));
    });
  }

  /** Where one side has left, the other may have to be told yet. */
  #forget(): void {
    if (this.#client.closed && this.#server?.closed !== false) this.#onClosed();
  }

  #tell(act: () => void): void {
    if (this.#isHeld) this.#untold.push(act);
    else act();
  }
}
