import type { Loaded } from "../server/config/load.ts";
import { openStore } from "../server/open-store.ts";
import type { Store } from "../server/store/store.ts";
import { openDataOf } from "./data-folder.ts";

/** The store of a service for a command, whether the service runs or not. */
export function openStoreOf(loaded: Loaded): Promise<Store> {
  return openStore(loaded.config, openDataOf(loaded), {
    isBeside: true,
    tell: (line) => process.stderr.write(`${line}\n`),
    warn: (line) => process.stderr.write(`${line}\n`),
  });
}
