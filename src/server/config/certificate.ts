import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { now } from "../../shared/clock.ts";
import { ConfigError, type ConfigProblem } from "./config-error.ts";
import type { Loaded } from "./load.ts";
import { HAS_MODES, nameOfUser, ownId } from "./owner.ts";
import type { Config } from "./resolve.ts";
import { quotePath, showMode, targetOf } from "./unwritable.ts";

/** What HTTPS is served with: the files of TLS_CERT_FILE and TLS_KEY_FILE. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Sentences for the log: about certificates that are not valid when it is read, or not for long. */
  readonly warnings: readonly string[];
}

type Key = "TLS_CERT_FILE" | "TLS_KEY_FILE";

const EXPECTED = {
  TLS_CERT_FILE: "a certificate chain (PEM: -----BEGIN CERTIFICATE-----)",
  TLS_KEY_FILE: "the private key of the certificate (PEM: -----BEGIN PRIVATE KEY-----)",
};

/**
 * Reads both files and looks whether they fit; null where HTTPS is not configured.
 *
 * @throws ConfigError with what was found and what was expected
 */
export function readCertificate(
  config: Pick<Config, Key>,
  placeOf: Loaded["placeOf"] = (key) => key,
): Certificate | null {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = config;
  if (certFile === null || keyFile === null) return null;
  const errors: ConfigProblem[] = [];
  const attempt = <T>(key: Key, act: () => T): T | null => {
    try {
      return act();
    } catch (error) {
      errors.push({ place: placeOf(key), message: (error as Error).message });
      return null;
    }
  };
  const cert = attempt("TLS_CERT_FILE", () => readChain(certFile));
  const key = attempt("TLS_KEY_FILE", () => readKey(keyFile));
  if (cert !== null && key !== null)
    attempt("TLS_KEY_FILE", () =>
      requirePair({ ...cert, file: certFile }, { ...key, file: keyFile }),
    );
  if (cert === null || key === null || errors.length > 0) throw new ConfigError(errors);
  const { bytes, chain } = cert;
  return {
    cert: bytes,
    key: key.bytes,
    get warnings() {
      return chain.flatMap((one) => warnOfDates(certFile, one));
    },
  };
}

interface Chain {
  readonly bytes: Buffer;
  /** The service's own first. */
  readonly chain: readonly X509Certificate[];
}

function readChain(file: string): Chain {
  const bytes = readBytes("TLS_CERT_FILE", file);
  const blocks = blocksOf(bytes, "(?:X509 |TRUSTED )?CERTIFICATE");
  if (blocks.length === 0)
    throw new Error(`Found ${whatIs(bytes)} in "${file}" ${expected("TLS_CERT_FILE")}`);
  try {
    return { bytes, chain: blocks.map((block) => new X509Certificate(block)) };
  } catch (error) {
    return refuseDamaged("TLS_CERT_FILE", file, "certificate", error);
  }
}

function readKey(file: string): { bytes: Buffer; key: KeyObject } {
  const bytes = readBytes("TLS_KEY_FILE", file);
  const [block] = blocksOf(bytes, "(?:[A-Z0-9]+ )*PRIVATE KEY");
  if (block === undefined)
    throw new Error(`Found ${whatIs(bytes)} in "${file}" ${expected("TLS_KEY_FILE")}`);
  if (/ENCRYPTED/.test(block))
    throw new Error(
      `Found a key with a passphrase in "${file}" for TLS_KEY_FILE, expected one without. ` +
        `Take it away with: openssl pkey -in ${quotePath(file)} -out KEY`,
    );
  try {
    return { bytes, key: createPrivateKey(block) };
  } catch (error) {
    return refuseDamaged("TLS_KEY_FILE", file, "key", error);
  }
}

function refuseDamaged(key: Key, file: string, what: string, error: unknown): never {
  const { message } = error as Error;
  throw new Error(
    `Found a damaged ${what} in "${file}" for ${key} (${message}), expected ${EXPECTED[key]}`,
  );
}

function expected(key: Key): string {
  return `for ${key}, expected ${EXPECTED[key]}`;
}

function readBytes(key: Key, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`Found ${describeUnreadable(file, error)} ${expected(key)}`, { cause: error });
  }
}

function describeUnreadable(file: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return `no file at "${file}"`;
  if (code === "EISDIR") return `a folder at "${file}"`;
  const stats = targetOf(file);
  if (code !== "EACCES" || stats === null || !HAS_MODES) return `"${file}" (${message})`;
  return (
    `"${file}", which cannot be read (it belongs to ${nameOfUser(stats.uid)}, ` +
    `mode ${showMode(stats)}, and the service runs as ${nameOfUser(ownId())})`
  );
}

/** PEM (RFC 7468): what is before, between and after the blocks does not count. */
function blocksOf(bytes: Buffer, label: string): string[] {
  const pattern = new RegExp(`-----BEGIN (${label})-----[^]*?-----END \\1-----`, "g");
  return [...bytes.toString("latin1").matchAll(pattern)].map(([block]) => block);
}

/** What a file without the wanted block holds instead. */
function whatIs(bytes: Buffer): string {
  if (bytes.length === 0) return "nothing";
  const label = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(bytes.toString("latin1"))?.[1];
  if (label !== undefined) return `"-----BEGIN ${label}-----"`;
  // A sequence of ASN.1: the same in binary.
  return bytes[0] === 0x30 ? "binary (DER)" : "no PEM";
}

/** The key is the first certificate's, and TLS takes both. */
function requirePair(
  cert: Chain & { file: string },
  key: { bytes: Buffer; key: KeyObject; file: string },
): void {
  const [own, ...others] = cert.chain;
  if (own === undefined || own.checkPrivateKey(key.key)) return requireTaken(cert, key);
  const isLater = others.some((other) => other.checkPrivateKey(key.key));
  throw new Error(
    `Found a key in "${key.file}" for TLS_KEY_FILE that does not fit the first certificate in ` +
      `"${cert.file}" (${nameOf(own)}), expected the key of that certificate` +
      (isLater ? ". It fits a later one: put that first" : ""),
  );
}

/** What TLS itself demands: keys that are long enough, digests that are not broken. */
function requireTaken(cert: { bytes: Buffer; file: string }, key: { bytes: Buffer }): void {
  try {
    createSecureContext({ cert: cert.bytes, key: key.bytes });
  } catch (error) {
    const { message } = error as Error;
    throw new Error(
      `Found a certificate and a key that TLS refuses (${message}), expected others in ` +
        `"${cert.file}" for TLS_CERT_FILE, with their key`,
      { cause: error },
    );
  }
}

/** Expiry is warned of so long before. */
const SOON_MS = 14 * 24 * 60 * 60 * 1000;

function warnOfDates(file: string, one: X509Certificate): string[] {
  const [from, until] = [one.validFromDate, one.validToDate];
  const what = `TLS_CERT_FILE "${file}": the certificate of ${nameOf(one)}`;
  const at = now();
  if (until.getTime() <= at)
    return [`${what} expired at ${until.toISOString()}: clients refuse it`];
  if (from.getTime() > at)
    return [`${what} is not valid before ${from.toISOString()}: clients refuse it`];
  return until.getTime() - at < SOON_MS ? [`${what} expires at ${until.toISOString()}`] : [];
}

/** One line: `CN=example.com`. */
function nameOf({ subject }: X509Certificate): string {
  return (subject || "no name").replaceAll("\n", ", ");
}
