import * as crypto from "node:crypto";
import { promisify } from "node:util";
import { HashThread } from "./hash-thread.ts";

/**
 * Password hashes as strings that name their algorithm: argon2id (19 MiB, t=2, p=1; RFC 9106),
 * or scrypt (N=2^15, r=8, p=1; RFC 7914) on a runtime without argon2.
 */

const ARGON = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const SCRYPT = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 };

// Deno's node:crypto has no argon2, so it is looked up and not imported by name.
const argon2 = crypto.argon2Sync === undefined ? null : new HashThread();
/** What new hashes are made with. */
const ALGORITHM = argon2 === null ? "scrypt" : "argon2id";
const PARAMETERS = { argon2id: "v=19$m=19456,t=2,p=1", scrypt: "ln=15,r=8,p=1" };
const scrypt = promisify<string, Buffer, number, crypto.ScryptOptions, Buffer>(crypto.scrypt);

/** A new salted hash; takes tens of milliseconds, off the loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(16);
  return toStored(salt, await derive(ALGORITHM, password.normalize("NFC"), salt));
}

/** A hash that no password has; to compare with it takes as long as with any other. */
export function newUnmatchedHash(): string {
  return toStored(crypto.randomBytes(16), crypto.randomBytes(32));
}

function toStored(salt: Buffer, hash: Buffer): string {
  return `$${ALGORITHM}$${PARAMETERS[ALGORITHM]}$${toText(salt)}$${toText(hash)}`;
}

/**
 * Whether the password is the one that was hashed, compared in constant time.
 *
 * @throws Error where this runtime lacks the algorithm of the stored hash
 */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, algorithm] = stored.split("$");
  const [salt, expected] = stored
    .split("$")
    .slice(-2)
    .map((part) => Buffer.from(part, "base64"));
  if (salt === undefined || expected === undefined || expected.length !== 32) return false;
  const found = await derive(algorithm ?? "", password.normalize("NFC"), salt);
  return crypto.timingSafeEqual(found, expected);
}

async function derive(algorithm: string, password: string, salt: Buffer): Promise<Buffer> {
  if (algorithm === "scrypt") return scrypt(password, salt, 32, SCRYPT);
  if (algorithm === "argon2id" && argon2 !== null)
    return argon2.hash({ message: password, nonce: salt, ...ARGON });
  throw new Error(
    `Cannot check a password hashed with "${algorithm}" on this runtime. ` +
      `Set it again with: flowhook user password`,
  );
}

function toText(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}

/** A password for people to copy: 20 characters, about 119 bits. */
export function generatePassword(): string {
  const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
  return Array.from({ length: 20 }, () => letters[crypto.randomInt(letters.length)]).join("");
}
