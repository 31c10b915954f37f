import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../shared/errors.ts";

/** A 256-bit key; what is signed or encrypted uses a key derived from it. */
export interface DataKey {
  /** A key of its own for one purpose (HKDF-SHA-256, RFC 5869). */
  derive(purpose: string): Buffer;
}

/** Where the configuration has the key. */
export interface KeyPlace {
  readonly DATA_DIR: string;
  /** 64 hexadecimal digits, which win over the file; null: `DATA_DIR/secret.key` has them. */
  readonly DATA_KEY: string | null;
}

/** Reads the key, or makes its file, readable by its owner only. @throws StartError */
export function openDataKey(place: KeyPlace): DataKey {
  return readDataKey(place) ?? toDataKey(createKey(place.DATA_DIR, keyFileOf(place)));
}

/**
 * Reads the key and makes none.
 *
 * @returns null where there is none
 * @throws StartError where the file holds something else
 */
export function readDataKey(place: KeyPlace): DataKey | null {
  const { DATA_KEY } = place;
  const key = DATA_KEY === null ? readKey(keyFileOf(place)) : Buffer.from(DATA_KEY, "hex");
  return key === null ? null : toDataKey(key);
}

/** What has the key, for messages. */
export function nameOfKey({ DATA_KEY }: KeyPlace): "DATA_KEY" | "secret.key" {
  return DATA_KEY === null ? "secret.key" : "DATA_KEY";
}

/** Where the key is, for messages. */
export function placeOfKey(place: KeyPlace): string {
  return place.DATA_KEY === null ? `"${keyFileOf(place)}"` : "DATA_KEY";
}

export function keyFileOf({ DATA_DIR }: Pick<KeyPlace, "DATA_DIR">): string {
  return join(DATA_DIR, "secret.key");
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
    78,
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
