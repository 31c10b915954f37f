import { watchFile } from "node:fs";
import { readCertificate, type Certificate } from "../config/certificate.ts";
import type { Config } from "../config/resolve.ts";
import type { Log } from "../../shared/log.ts";

/** How often the files of the certificate are looked at: they may be links, and be replaced. */
const POLL_MS = 5000;

/** How often its dates are: whose renewal broke is told of it while the service runs. */
const DATES_MS = 24 * 60 * 60 * 1000;

export interface Watched {
  readonly config: Pick<Config, "TLS_CERT_FILE" | "TLS_KEY_FILE">;
  readonly log: Pick<Log, "warn">;
  /** The one that is served. */
  readonly certificate: Certificate;
}

/**
 * Takes up the files of HTTPS where they are replaced, and warns of certificates that are not valid, or
 * not for long: once of each such date.
 *
 * @param take the certificate that is to be served from now on
 */
export function watchCertificate(
  { config, log, certificate }: Watched,
  take: (certificate: Certificate) => void,
): void {
  let served = certificate;
  const told = new Set<string>();
  const tell = (): void => {
    for (const warning of served.warnings) {
      if (!told.has(warning)) log.warn(warning);
      told.add(warning);
    }
  };
  const reload = (): void => {
    try {
      served = readCertificate(config) ?? served;
      take(served);
      tell();
    } catch (error) {
      log.warn({ error: String(error) }, "Cannot take up the changed certificate yet");
    }
  };
  tell();
  for (const file of [config.TLS_CERT_FILE, config.TLS_KEY_FILE])
    if (file !== null) watchFile(file, { persistent: false, interval: POLL_MS }, reload);
  // What changed between the reading before and the first look of the watch is no change to it.
  setTimeout(reload, POLL_MS).unref();
  setInterval(tell, DATES_MS).unref();
}
