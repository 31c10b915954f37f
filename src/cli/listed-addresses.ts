import type { Loaded } from "../server/config/load.ts";
import { databaseFile } from "../server/config/resolve.ts";
import { listAddressed } from "../server/store/sqlite/listed-addresses.ts";
import { isOfOther } from "./data-folder.ts";

/** Names that a line has. */
const MOST_NAMES = 5;

/** Warns of webhooks that list addresses where no proxy is trusted; nothing is made or changed. */
export function warnOfAddresses(
  { config }: Pick<Loaded, "config">,
  addon: string | null,
): string[] {
  // Root would leave files beside the database that its user could not open.
  if (config.TRUSTED_PROXIES.length > 0 || isOfOther(config.DATA_DIR)) return [];
  const path = databaseFile(config);
  if (path === null) return [];
  const names = read(path, addon);
  if (names.length === 0) return [];
  const shown = names.slice(0, MOST_NAMES).map((name) => `"${name}"`);
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
  return [
    `allowed_addresses of ${shown.join(", ")}${more} are compared with the other end of the connection: ` +
      `TRUSTED_PROXIES is empty. Behind a proxy that is the proxy for every caller: look for ` +
      `"X-Forwarded-For" in the log of the service, and add the proxy to TRUSTED_PROXIES`,
  ];
}

/** What cannot be read is told by whoever needs it. */
function read(path: string, addon: string | null): string[] {
  try {
    return listAddressed({ path, addon });
  } catch {
    return [];
  }
}
