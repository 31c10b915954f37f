import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { isAlive } from "../../shared/alive.ts";
import type { LineAddress } from "../../shared/wire/protocol.ts";
import { openSeal, type Seal } from "../../shared/wire/seal.ts";

/** Who connects says at once who it is. */
const GREETING_MS = 10_000;

const TOKEN_BYTES = 16;
const GREETING = TOKEN_BYTES * 2;

/** Where a thread is awaited. */
export interface Awaited {
  readonly address: LineAddress;
  readonly seal: Seal;
  /** It is not awaited any more. */
  forget(): void;
}

/** Where flow threads connect to, each to a line of its own that its token names. */
export class ThreadListener {
  readonly #path: string;
  readonly #server: Server;
  readonly #awaited = new Map<string, (socket: Socket) => void>();
  readonly #unknown = new Set<Socket>();

  private constructor(path: string, server: Server) {
    this.#path = path;
    this.#server = server;
    server.on("connection", (socket) => this.#greet(socket));
  }

  /**
   * @param folder of this service's alone; beside it, at most commands that start threads as well
   * @throws {Error} where it cannot listen there
   */
  static async open(folder: string): Promise<ThreadListener> {
    const path = toPath(folder);
    const server = createServer();
    server.listen(path);
    await once(server, "listening");
    return new ThreadListener(path, server);
  }

  /** @param connected called once, when the thread has connected and takes runs */
  await(connected: (socket: Socket) => void): Awaited {
    const token = randomBytes(TOKEN_BYTES).toString("hex");
    const seal = openSeal();
    this.#awaited.set(token, connected);
    return {
      address: { path: this.#path, token, seal: seal.head.toString("hex") },
      seal,
      forget: () => this.#awaited.delete(token),
    };
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#unknown) socket.destroy();
  }

  /** It is nobody until it has said a token that is awaited. */
  #greet(socket: Socket): void {
    this.#unknown.add(socket);
    const read = (): void => {
      const greeting = socket.read(GREETING) as Buffer | null;
      if (greeting === null) return;
      socket.removeListener("readable", read);
      this.#admit(socket, greeting.toString("latin1"));
    };
    socket.setTimeout(GREETING_MS, () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => this.#unknown.delete(socket));
    socket.on("readable", read);
  }

  #admit(socket: Socket, token: string): void {
    const connected = this.#awaited.get(token);
    if (connected === undefined) return void socket.destroy();
    this.#awaited.delete(token);
    this.#unknown.delete(socket);
    socket.setTimeout(0);
    connected(socket);
  }
}

/** Of all that are opened in this process. */
let last = 0;

/** Longest path of a Unix socket that every system takes, in bytes. */
const MAX_PATH = 100;

function toPath(folder: string): string {
  const name = `${process.pid}-${(last += 1)}`;
  if (process.platform === "win32") return `\\\\.\\pipe\\flowhook-${name}`;
  removeLeftovers(folder);
  const path = join(folder, `threads-${name}.sock`);
  const bytes = Buffer.byteLength(path);
  if (bytes > MAX_PATH)
    throw new Error(`The path "${path}" has ${bytes} bytes, a socket takes at most ${MAX_PATH}`);
  rmSync(path, { force: true });
  return path;
}

/** What processes that were killed have left behind. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /^threads-(\d+)-\d+\.sock$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}
