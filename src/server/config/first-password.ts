import { existsSync } from "node:fs";
import { PASSWORD_LENGTH } from "../../shared/password-length.ts";
import { refuse } from "./config-error.ts";
import { databaseFile, type Config } from "./resolve.ts";

/**
 * Where the first start is still to come, before it makes anything; whether a database of PostgreSQL
 * had one is not looked at.
 *
 * @throws ConfigError for a password that the start would refuse
 */
export function checkFirstPassword(config: Config, given: () => string | null): void {
  const database = databaseFile(config);
  if (database !== null && !existsSync(database)) requireLong(given());
}

/**
 * @param given null: one is generated
 * @throws ConfigError for a password that nobody could be given later
 */
export function requireLong(given: string | null): void {
  if (given === null || given.length >= PASSWORD_LENGTH) return;
  refuse(
    "FLOWHOOK_ADMIN_PASSWORD",
    `Found a password of ${given.length} characters, expected at least ${PASSWORD_LENGTH} for the user admin`,
  );
}
