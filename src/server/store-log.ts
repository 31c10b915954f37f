import type { Log } from "../shared/log.ts";
import type { StoreOptions } from "./open-store.ts";
import { isDamage } from "./store/sqlite/error.ts";

const UNWRITABLE =
  "The database cannot be written: calls are recorded in the ledger as long as it has room";
const DAMAGED =
  "The database is damaged: not ready, and calls get 503. Stop the service and restore a backup: " +
  "flowhook restore FILE";

/** What the log says of the store, each once; one that is lost ends the service. */
export function logStore(log: Log): StoreOptions {
  return {
    tell: (line) => log.info(line),
    warn: (line) => log.warn(line),
    onRoom: (error) =>
      error === null
        ? log.info("Calls are taken again: the ledger can be written")
        : log.error(
            { error: String(error) },
            "The ledger cannot be written: not ready, and calls that do not fit get 503",
          ),
    onLost: (error) =>
      error === null
        ? log.info("Calls are taken again: the files of the database are where they were")
        : log.error(
            { error: error.message },
            "A file of the database is gone: not ready, and calls get 503. Move the same file back, " +
              "or stop the service to start with what is there then",
          ),
    onFailing: (error) =>
      error === null
        ? log.info("The database can be written again")
        : log.error({ error: error.message }, isDamage(error) ? DAMAGED : UNWRITABLE),
    onAway: (reason) =>
      reason === null
        ? log.info("The database is reached again")
        : log.error(`The database cannot be reached: ${reason}`),
    onUnrecorded: (reason) =>
      reason === null
        ? log.info("Calls are recorded again")
        : log.error(`No call can be recorded, so calls get 503, and it is not ready: ${reason}`),
    onDamage: (error, isLost) => {
      if (!isLost)
        return log.error({ err: error }, "Something failed at the ledger, which goes on");
      log.fatal({ err: error }, "Nothing can be written to the store any more. Stopping");
      process.exit(1);
    },
  };
}
