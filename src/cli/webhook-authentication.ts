import { PRESET_NAMES } from "../shared/contract/signature-scheme.ts";
import type { AuthenticatedWebhook as Webhook } from "../shared/contract/webhook.ts";
import { Option, type Command } from "commander";
import { openClient, toPath } from "./client.ts";
import { toLastWord, toOptions, type ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { toCount, toList } from "./input.ts";
import { readPassword, type PasswordOptions } from "./prompt.ts";
import { printJson } from "./table.ts";
import { printWebhook } from "./webhook-fields.ts";

/** The commands that ask for the password again (specification 4.8). */
export function addAuthenticationCommands(webhook: Command, url: readonly [string, string]): void {
  const password = ["--password-stdin", "read your password from standard input"] as const;
  webhook
    .command("enable")
    .description("Let a webhook answer calls")
    .argument("<name>")
    .option("--require-login", "callers need a login token as well")
    .option("--no-require-login", "callers need no login token")
    .option(...password)
    .option("--json", "print JSON")
    .option(...url)
    .action(enableWebhook);
  webhook
    .command("disable")
    .description("Let a webhook answer no calls")
    .argument("<name>")
    .option(...password)
    .option("--json", "print JSON")
    .option(...url)
    .action(disableWebhook);
  webhook
    .command("key")
    .description("Replace or remove the key of a webhook")
    .argument("<name>")
    .addOption(new Option("--generate", "a random key, shown this once").conflicts(["set", "none"]))
    .addOption(
      new Option("--set <->", "the key that is typed, or on the second line of standard input")
        .choices(["-"])
        .conflicts("none"),
    )
    .option("--none", "no key: callers need none")
    .option("--keep-previous <sec>", "how long the replaced key still admits, up to 86400", toCount)
    .option(...password)
    .option("--json", "print JSON")
    .option(...url)
    .action(changeKey);
  addSignatureCommand(webhook, url, password);
}

function addSignatureCommand(
  webhook: Command,
  url: readonly [string, string],
  password: readonly [string, string],
): void {
  webhook
    .command("signature")
    .description("Let a webhook check how its calls are signed, or not any more")
    .argument("<name>")
    .addOption(
      new Option("--scheme <scheme>", "who signs, and how; a custom one with webhook set").choices(
        PRESET_NAMES,
      ),
    )
    .option("--secret <name>", "secret; again for another, which admits as well", toList)
    .option(
      "--tolerance <sec>",
      "how old or new a timestamp may be, up to 3600 (default: 300)",
      toCount,
    )
    .option("--observe", "admit calls with a wrong signature too, and log why it is wrong")
    .addOption(
      new Option("--none", "calls need not be signed").conflicts([
        "scheme",
        "secret",
        "tolerance",
        "observe",
      ]),
    )
    .option(...password)
    .option("--json", "print JSON")
    .option(...url)
    .action(changeSignature);
}

interface SignatureOptions extends AuthenticationOptions {
  readonly scheme?: string;
  readonly secret?: readonly string[];
  readonly tolerance?: number;
  readonly observe?: true;
  readonly none?: true;
}

async function changeSignature(name: string, options: SignatureOptions): Promise<void> {
  const { scheme, secret, tolerance, observe, none } = options;
  if (none) return void (await authenticate(name, { signature: null }, options));
  if (scheme === undefined || secret === undefined)
    throw new CommandError("Expected --scheme and --secret, or --none", 2);
  const mode = observe ? "observe" : "enforce";
  const tolerance_sec = tolerance === undefined ? {} : { tolerance_sec: tolerance };
  const signature = { scheme, secrets: secret, mode, ...tolerance_sec };
  const webhook = await authenticate(name, { signature }, options);
  if (webhook.is_key_required && !options.json)
    process.stdout.write(`\n${describeKeyToo(webhook, options)}\n`);
}

/** Without the key, a webhook that observes its signatures would admit everybody. */
function describeKeyToo({ name, signature }: Webhook, options: ConnectionOptions): string {
  const isObserved = signature?.mode === "observe";
  return (
    "It still needs its key as well: a sender that signs its calls and sends no key gets 401. " +
    (isObserved
      ? "Once signatures are enforced, take the key away with: "
      : "Take it away with: ") +
    `flowhook webhook key --none${toOptions(options)} ${toLastWord(name)}`
  );
}

export const QUESTION = "Your password: ";

type AuthenticationOptions = ConnectionOptions & PasswordOptions & { readonly json?: true };

async function enableWebhook(
  name: string,
  options: AuthenticationOptions & { requireLogin?: boolean },
): Promise<void> {
  const { requireLogin } = options;
  const login = requireLogin === undefined ? {} : { require_login: requireLogin };
  await authenticate(name, { is_enabled: true, ...login }, options);
}

async function disableWebhook(name: string, options: AuthenticationOptions): Promise<void> {
  await authenticate(name, { is_enabled: false }, options);
}

interface KeyOptions extends AuthenticationOptions {
  readonly generate?: true;
  readonly set?: string;
  readonly none?: true;
  readonly keepPrevious?: number;
}

async function changeKey(name: string, options: KeyOptions): Promise<void> {
  const { generate, set, none, keepPrevious } = options;
  if (!generate && !none && set === undefined)
    throw new CommandError("Expected one of --generate, --set - and --none", 2);
  const keep = keepPrevious === undefined ? {} : { keep_previous_sec: keepPrevious };
  await authenticate(name, { ...(await readKey(name, options)), ...keep }, options);
}

/**
 * The password and the key: one after the other from a terminal, or a line of each. A key is
 * never on the command line, where other users of the machine see it.
 */
async function readKey(
  name: string,
  options: KeyOptions,
): Promise<{ password: string; key: unknown }> {
  const given = await readPassword(QUESTION, options);
  if (options.none) return { password: given, key: null };
  if (options.generate) return { password: given, key: { generate: true } };
  if (!options.passwordStdin)
    return { password: given, key: await readPassword(`Key of "${name}": `, {}) };
  const [password = "", key = ""] = given.split(/\r?\n/);
  return { password, key };
}

async function authenticate(
  name: string,
  change: Readonly<Record<string, unknown>>,
  options: AuthenticationOptions,
): Promise<Webhook> {
  const client = openClient(options);
  const password = change["password"] ?? (await readPassword(QUESTION, options));
  const path = `${toPath("webhook", name)}/authentication`;
  const body = { ...change, password };
  const answer = await client.json<Webhook>("PUT", path, { body, has: "name" });
  const { key, ...webhook } = answer;
  // A key that was typed is known: only a generated one has to be shown.
  const isNew = key !== undefined && key !== change["key"];
  const shown = isNew ? { ...webhook, key } : webhook;
  if (options.json) printJson(shown);
  else printWebhook(shown);
  return answer;
}
