import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../shared/errors.ts";

/** The 256-bit key of a data folder; what is signed or encrypted uses a key derived from it. */
export interface DataKey {
  /** A key of its own for one purpose (HKDF-SHA-256, RFC 5869). */
  derive(purpose: string): Buffer;
}

/** Reads `DATA_DIR/secret.key`, or makes it, readable by its owner only. */
export function openDataKey(dataDir: string): DataKey {
  const file = fileOf(dataDir);
  return toDataKey(readKey(file) ?? createKey(dataDir, file));
}

/**
 * Reads the key and makes none.
 *
 * @returns null where there is none
 * @throws StartError where the file holds something else
 */
export function readDataKey(dataDir: string): DataKey | null {
  const key = readKey(fileOf(dataDir));
  return key === null ? null : toDataKey(key);
}

function fileOf(dataDir: string): string {
  return join(dataDir, "secret.key");
}

function toDataKey(key: Buffer): DataKey {
  return {
    derive: (purpose) => Buffer.from(hkdfSync("sha256", key, "", `flowhook ${purpose}`, 32)),
  };
}

function readKey(file: string): Buffer | null {
  try {
    const key = Buffer.from(readFileSync(file, "utf8").trim(), "hex");
    if (key.length === 32) return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  throw new StartError(
    `Cannot use the key file "${file}": expected 64 hexadecimal digits. Put the right one back`,
  );
}

function createKey(dataDir: string, file: string): Buffer {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const key = randomBytes(32);
  // Whole and on disk before it has its name: half a key would open nothing, for ever.
  writeFileSync(`${file}.new`, `${key.toString("hex")}\n`, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
  return key;
}

/** HMAC-SHA-256 of a text, base64url. */
export function sign(key: Buffer, text: string): string {
  return createHmac("sha256", key).update(text).digest("base64url");
}
