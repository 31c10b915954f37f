import { readCredentials, readEnvironment } from "../server/config/environment.ts";
import { ConfigError } from "../server/config/config-error.ts";
import { loadConfig } from "../server/config/load.ts";
import { findConnection } from "./author-connection.ts";
import { findAuthorFolder } from "./author-folder.ts";
import { trustCertificates } from "./certificates.ts";
import { CommandError } from "./command-error.ts";
import { NONE, readLogins } from "./kept-logins.ts";
import { quotePath } from "../server/config/unwritable.ts";

/** The service that a command speaks to, and the login token it speaks with. */
export interface Connection {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string | null;
}

export interface ConnectionOptions {
  readonly url?: string;
  /** File of the authorities that an HTTPS service is checked against. */
  readonly cacert?: string;
}

/** For a command that is advised: it reaches the same service. */
export function toOptions({ url, cacert }: ConnectionOptions): string {
  return Object.entries({ url, cacert })
    .map(([name, value]) => (value === undefined ? "" : ` --${name} ${quotePath(value)}`))
    .join("");
}

/** A name as the last word of a command that is advised: one may look like an option. */
export function toLastWord(name: string): string {
  return name.startsWith("-") ? `-- ${quotePath(name)}` : quotePath(name);
}

/**
 * `--url`, else FLOWHOOK_URL, else what `flowhook dev` runs for this folder, else the service of
 * the last login, else the one that the configuration of this folder describes; both of this folder
 * or of the nearest above. FLOWHOOK_TOKEN goes
 * before a kept login.
 *
 * @throws CommandError (usage) where the URL is none or has a user or a password, or is another
 *   machine's and nobody but a file of this folder names it: a token, a password or a key would go there
 */
export function openConnection(options: ConnectionOptions): Connection {
  const given = readCredentials(readEnvironment());
  const own = isNamed(options) ? null : findConnection(findAuthorFolder());
  if (own !== null) return own;
  const isGiven = (options.url ?? given.url ?? null) !== null && given.token !== null;
  // A home that cannot be read stops nobody who needs nothing of it.
  const kept = isGiven ? NONE : readLogins();
  const named = options.url ?? given.url ?? kept.current;
  if (named !== null && named !== kept.current) refuseCredentials(named);
  const url = toServiceUrl(named ?? configuredUrl());
  const token = given.token ?? kept.logins[url]?.token ?? null;
  if (url.startsWith("https:")) trustCertificates(options.cacert ?? null);
  if (named === null && kept.logins[url] === undefined) requireLocal(url, given.token);
  return { url, token };
}

/** Whether somebody said which service is meant, for this command alone. */
export function isNamed(options: ConnectionOptions): boolean {
  return options.url !== undefined || readCredentials(readEnvironment()).url !== null;
}

function requireLocal(url: string, token: string | null): void {
  const { hostname } = new URL(url);
  if (/^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname)) return;
  const what = token === null ? "Nothing is" : "FLOWHOOK_TOKEN is not";
  throw new CommandError(
    `${what} sent to ${url}: only the configuration of this folder names it, and it is no ` +
      `address of this machine alone. Name the service with --url or FLOWHOOK_URL`,
    2,
  );
}

function toServiceUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "")
    return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  const shown = withoutCredentials(text);
  throw new CommandError(`Found "${shown}", expected the URL of a service: http://HOST:PORT`, 2);
}

/** A service has logins, and takes no others. */
function refuseCredentials(text: string): void {
  if (URL.parse(text) === null || !text.includes("@")) return;
  throw new CommandError(
    `Found a user or a password in "${withoutCredentials(text)}", expected the URL of a service ` +
      `without them: http://HOST:PORT. Leave them out, and log in with: flowhook login ` +
      `(an @ of its path is written %40)`,
    2,
  );
}

/**
 * Also of what is no URL, and of what is taken for a path or a query: a password may have any character,
 * and is shown to nobody.
 */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z]+:\/\/)?.*@/is, "$1...@");
}

const DEFAULT_PORT = 8080;

/** Where the service of this folder listens; the default where the configuration cannot be read. */
function configuredUrl(): string {
  try {
    const { config } = loadConfig({ env: readEnvironment(), cwd: findAuthorFolder() });
    const { LISTEN_HOST: host, LISTEN_PORT: port, BASE_URL: base } = config;
    const scheme = config.TLS_CERT_FILE === null ? "http" : "https";
    const path = base === null ? "" : new URL(base).pathname;
    return `${scheme}://${toReachable(host)}:${port || DEFAULT_PORT}${path}`;
  } catch (error) {
    if (error instanceof ConfigError) return `http://127.0.0.1:${DEFAULT_PORT}`;
    throw error;
  }
}

/** A service that listens everywhere is reached here. */
function toReachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
