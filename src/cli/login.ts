import type { Login } from "../shared/contract/login.ts";
import { createClient, RefusedFailure } from "./client.ts";
import { openConnection, type ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { forgetLogin, keepLogin, readLogins } from "./kept-logins.ts";
import { ask, readPassword, type PasswordOptions } from "./prompt.ts";

/** Gets a login token and keeps it for the other commands. */
export async function login(
  url: string | undefined,
  options: ConnectionOptions & PasswordOptions & { user?: string },
): Promise<void> {
  const client = createClient(openConnection(toService(url, options)));
  process.stderr.write(`Logging in to ${client.url}\n`);
  const user_name = options.user ?? (await ask("User name: ", "--user"));
  const password = await readPassword("Password: ", options);
  const answer = await client.json<Login>("POST", "/auth/login", {
    body: { user_name, password },
    has: "token",
  });
  const { token, expires_at, user } = answer;
  keepLogin(client.url, { token, expires_at, user_name: user.name });
  process.stdout.write(`Logged in to ${client.url} as "${user.name}" until ${expires_at}\n`);
}

/** @throws CommandError (usage) where both name one: which of them was meant? */
function toService<Options extends ConnectionOptions>(
  url: string | undefined,
  options: Options,
): Options {
  if (url === undefined) return options;
  if (options.url === undefined) return { ...options, url };
  throw new CommandError("Found a URL and --url, expected one of them", 2);
}

/** Ends the kept token, at the service too where that can be reached. */
export async function logout(url: string | undefined, options: ConnectionOptions): Promise<void> {
  const connection = openConnection(toService(url, options));
  const { token } = readLogins().logins[connection.url] ?? {};
  if (token === undefined) throw new CommandError(`There is no kept login to ${connection.url}`);
  forgetLogin(connection.url);
  const error = await endToken(connection.url, token);
  process.stdout.write(`Logged out of ${connection.url}\n`);
  if (error !== null) process.stderr.write(`The token was not ended at the service: ${error}\n`);
}

/** @returns why the service did not end it; null where it did, or had before */
async function endToken(url: string, token: string): Promise<string | null> {
  try {
    await createClient({ url, token }).request("POST", "/auth/logout");
    return null;
  } catch (error) {
    if (error instanceof RefusedFailure && error.status === 401) return null;
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}
