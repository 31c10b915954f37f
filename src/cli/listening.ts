import { once } from "node:events";
import { createServer } from "node:net";
import type { Config } from "../server/config/resolve.ts";
import { CommandError } from "./command-error.ts";

type Address = Pick<Config, "LISTEN_HOST" | "LISTEN_PORT">;

/** Why a service cannot listen; null for an error that is about something else. */
export function toListenError(
  error: unknown,
  { LISTEN_HOST: host, LISTEN_PORT: port }: Address,
): CommandError | null {
  const { message, syscall = "" } = error as NodeJS.ErrnoException;
  if (!["listen", "bind", "getaddrinfo"].includes(syscall)) return null;
  return new CommandError(
    `Cannot listen on ${host}:${port}: ${message}. Set LISTEN_HOST and LISTEN_PORT in ` +
      `flowhook.yaml, or FLOWHOOK_LISTEN_PORT in the environment: 0 takes any free port`,
  );
}

/**
 * Whether LISTEN_HOST is a name of this machine. On any port: a service that runs may have its own,
 * and a port below 1024 may be for its user alone.
 *
 * @throws CommandError
 */
export async function requireHost(config: Address): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(0, config.LISTEN_HOST), "listening");
  } catch (error) {
    throw toListenError(error, config) ?? error;
  } finally {
    server.close();
  }
}
