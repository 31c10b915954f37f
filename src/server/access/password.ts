import * as crypto from "node:crypto";
import type { JobOwner } from "../request/job-thread.ts";
import { openHashThread, refuseCrowded } from "./hash-thread.ts";

/**
 * Password hashes as strings that name their algorithm: argon2id (19 MiB, t=2, p=1; RFC 9106),
 * or scrypt (N=2^15, r=8, p=1; RFC 7914) on a runtime without argon2.
 */

const COSTS = {
  argon2id: { memory: 19_456, passes: 2, parallelism: 1 },
  scrypt: { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 },
};
const BYTES = 32;

// Deno's node:crypto has no argon2, so it is looked up and not imported by name.
const HAS_ARGON = crypto.argon2Sync !== undefined;
/** What new hashes are made with. */
const ALGORITHM = HAS_ARGON ? "argon2id" : "scrypt";
const PARAMETERS = { argon2id: "v=19$m=19456,t=2,p=1", scrypt: "ln=15,r=8,p=1" };

/** However many try to log in, whoever is logged in does not wait for them. */
const threads = { logins: openHashThread(), users: openHashThread() };

/** Whoever waits for a password to be checked. */
export interface PasswordOwner extends JobOwner {
  readonly isLoggedIn: boolean;
}

const OF_SERVICE: PasswordOwner = { client: "", isWanted: () => true, isLoggedIn: true };

/** A new salted hash; takes tens of milliseconds, off the loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(16);
  return toStored(salt, await derive(ALGORITHM, { password, salt }, OF_SERVICE));
}

/** @throws RequestError too_many_attempts, where a check would be refused for all that wait */
export function requireTurn(owner: PasswordOwner): void {
  if (!threadOf(owner).hasRoom(owner.client)) throw refuseCrowded();
}

function threadOf({ isLoggedIn }: PasswordOwner) {
  return isLoggedIn ? threads.users : threads.logins;
}

/** A hash that no password has; to compare with it takes as long as with any other. */
export function newUnmatchedHash(): string {
  return toStored(crypto.randomBytes(16), crypto.randomBytes(BYTES));
}

function toStored(salt: Buffer, hash: Uint8Array): string {
  return `$${ALGORITHM}$${PARAMETERS[ALGORITHM]}$${toText(salt)}$${toText(Buffer.from(hash))}`;
}

/**
 * Whether the password is the one that was hashed, compared in constant time.
 *
 * @throws RequestError too_many_attempts
 * @throws Error where this runtime lacks the algorithm of the stored hash
 */
export async function verifyPassword(
  password: string,
  stored: string,
  owner: PasswordOwner,
): Promise<boolean> {
  const [, algorithm] = stored.split("$");
  const [salt, expected] = stored
    .split("$")
    .slice(-2)
    .map((part) => Buffer.from(part, "base64"));
  if (salt === undefined || expected === undefined || expected.length !== BYTES) return false;
  const found = await derive(algorithm ?? "", { password, salt }, owner);
  return crypto.timingSafeEqual(found, expected);
}

async function derive(
  algorithm: string,
  { password, salt }: { readonly password: string; readonly salt: Buffer },
  owner: PasswordOwner,
): Promise<Uint8Array> {
  if (algorithm !== "scrypt" && !(algorithm === "argon2id" && HAS_ARGON))
    throw new Error(
      `Cannot check a password hashed with "${algorithm}" on this runtime. ` +
        `Set it again with: flowhook user password`,
    );
  const given = {
    password: password.normalize("NFC"),
    salt,
    bytes: BYTES,
    cost: COSTS[algorithm],
  };
  return threadOf(owner).run(algorithm, given, { ...owner, size: 0 });
}

function toText(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}

/** A password for people to copy: 20 characters, about 119 bits. */
export function generatePassword(): string {
  const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
  return Array.from({ length: 20 }, () => letters[crypto.randomInt(letters.length)]).join("");
}
