import { readFileSync } from "node:fs";
import { readCredentials, readEnvironment } from "../server/config/environment.ts";
import { CommandError } from "./command-error.ts";

/**
 * Decides which authorities the HTTPS connections of this process believe: those of a file alone,
 * as curl does with `--cacert`; without one the system's, beside the ones that the runtime brings.
 *
 * @param file of `--cacert`; null: SSL_CERT_FILE decides, as it does for curl and OpenSSL
 * @throws CommandError where the file has no certificate
 */
export function trustCertificates(file: string | null): void {
  // Not loaded where nothing speaks HTTPS.
  const { getCACertificates, setDefaultCACertificates } = process.getBuiltinModule("node:tls");
  const named = file ?? readCredentials(readEnvironment()).certificateFile;
  if (named !== null) return setDefaultCACertificates(readCertificates(named));
  setDefaultCACertificates([...getCACertificates("bundled"), ...getCACertificates("system")]);
}

/** PEM (RFC 7468): what stands around the certificates does not count. */
function readCertificates(file: string): string[] {
  const found = readText(file).match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
  if (found !== null) return found;
  throw new CommandError(
    `Found no certificate in "${file}", expected one or more (PEM: -----BEGIN CERTIFICATE-----)`,
    2,
  );
}

function readText(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch (error) {
    throw new CommandError(`Cannot read the certificates: ${(error as Error).message}`, 2);
  }
}
