import type { Loaded } from "../server/config/load.ts";
import { openStore } from "../server/open-store.ts";
import type { Store } from "../server/store/store.ts";
import { openDataOf } from "./data-folder.ts";

/**
 * The store of a service for a command, whether the service runs or not.
 *
 * @param isReading whether the command only reads: a store of an earlier version stays as it is
 * @throws StartError
 */
export function openStoreOf(loaded: Loaded, isReading = false): Promise<Store> {
  return openStore(loaded.config, openDataOf(loaded), {
    isBeside: true,
    isReading,
    tell: (line) => process.stderr.write(`${line}\n`),
    warn: (line) => process.stderr.write(`${line}\n`),
  });
}
