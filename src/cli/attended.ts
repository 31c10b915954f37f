import { isatty } from "node:tty";

/**
 * Whether SIGHUP says that a terminal was closed. Daemons are sent it to read something again; and
 * what `nohup` started is to go on, though the runtime forgets that it was told to ignore it: that of
 * GNU leaves it no terminal at all, that of others may leave it standard input.
 */
export function isAttended(): boolean {
  const isGnu = process.platform === "linux";
  return isatty(1) || isatty(2) || (isGnu && isatty(0));
}
