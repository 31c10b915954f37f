import { accessSync, constants } from "node:fs";
import { reasonOf, refuse } from "./config-error.ts";
import { databaseFile, type Config } from "./resolve.ts";

/**
 * The parameters of a URL of PostgreSQL. The driver passes over what it does not know: a mistyped
 * `sslmode` would be a connection in clear text.
 */

/** Parameters that the driver makes something of whatever they are. */
const FREE =
  "host port user password sslrootcert sslcert sslkey application_name fallback_application_name " +
  "client_encoding options statement_timeout lock_timeout idle_in_transaction_session_timeout " +
  "query_timeout";

/** Those of libpq that it passes over, and that ask for nothing that somebody would miss. */
const PASSED_OVER =
  "connect_timeout target_session_attrs keepalives keepalives_idle keepalives_interval " +
  "keepalives_count tcp_user_timeout";

/** Those of which it knows these values. */
const CHOICES: ReadonlyMap<string, readonly string[]> = new Map([
  ["sslmode", ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"]],
  ["sslnegotiation", ["postgres", "direct"]],
  ["ssl", ["true", "1", "0", "no-verify"]],
  ["uselibpqcompat", ["true", "false"]],
  // The driver has no word for "require".
  ["channel_binding", ["disable", "prefer"]],
]);

const KNOWN: readonly string[] = [...CHOICES.keys(), ...FREE.split(" ")];
const ACCEPTED: readonly string[] = [...KNOWN, ...PASSED_OVER.split(" ")];

/** @returns what is wrong with the parameters, without any password; null: nothing */
export function findParameterFault(url: string): string | null {
  const { searchParams } = new URL(url);
  const names = [...searchParams.keys()];
  const unknown = names.find((name) => !ACCEPTED.includes(name));
  if (unknown !== undefined) {
    // What follows an "&" may be the rest of a password.
    const found = searchParams.has("password") ? "a parameter" : `the parameter "${unknown}"`;
    return `Found ${found} in DATABASE_URL that is not known, expected ${KNOWN.join(", ")}`;
  }
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined)
    return `Found the parameter "${twice}" in DATABASE_URL again, expected it once`;
  for (const [name, value] of searchParams) {
    const values = CHOICES.get(name);
    if (values !== undefined && !values.includes(value))
      return `Found "${value}" for ${name} in DATABASE_URL, expected ${values.join(" or ")}`;
    if (name.startsWith("ssl") && value === "")
      return `Found nothing for ${name} in DATABASE_URL, expected the path of a file`;
  }
  return null;
}

/** @throws ConfigError for a file of a certificate or of a key that cannot be read */
export function requireUrlFiles(config: Pick<Config, "DATABASE_URL">, place: string): void {
  if (databaseFile(config) !== null) return;
  const { searchParams } = new URL(config.DATABASE_URL);
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = searchParams.get(name);
    if (file === null) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      refuse(place, `File "${file}" (${name} of DATABASE_URL) cannot be read: ${reasonOf(error)}`);
    }
  }
}
