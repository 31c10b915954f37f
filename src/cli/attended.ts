import { isatty } from "node:tty";

/**
 * Whether SIGHUP says that a terminal was closed. Daemons are sent it to read something again; and
 * what `nohup` started is to go on, though the runtime forgets that it was told to ignore it.
 */
export function isAttended(): boolean {
  return isatty(0) || isatty(1);
}
