import { findNeeded, isGuarded } from "../shared/contract/guarded-members.ts";
import type { AuthenticatedWebhook as Webhook } from "../shared/contract/webhook.ts";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { CORE_SCHEMA, load } from "js-yaml";
import { RequestError } from "../shared/errors.ts";
import { openClient, RefusedFailure, toPath, type Client } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { readText } from "./input.ts";
import { readPassword, type PasswordOptions } from "./prompt.ts";
import { printJson, toJson, toLine } from "./table.ts";
import { QUESTION } from "./webhook-authentication.ts";
import { printMembers } from "./webhook-fields.ts";

/** The commands that show and set any member of a webhook. */
export function addMemberCommands(webhook: Command, url: readonly [string, string]): void {
  webhook
    .command("show")
    .description("Show a webhook with all its members")
    .argument("<name>")
    .option("--json", "print JSON")
    .option(...url)
    .action(showWebhook);
  webhook
    .command("set")
    .description("Change members of a webhook, given as YAML or JSON; the others stay")
    .argument("<name>")
    .argument("<file>", "the members; - reads standard input")
    .option("--dry-run", "print the difference, and change nothing")
    .option("--password-stdin", "read your password from standard input, for guarded members")
    .option("--json", "print JSON")
    .option(...url)
    .action(setMembers);
}

async function showWebhook(
  name: string,
  options: ConnectionOptions & { json?: true },
): Promise<void> {
  const webhook = await openClient(options).json<Webhook>("GET", toPath("webhook", name), {
    has: "name",
  });
  if (options.json) printJson(webhook);
  else printMembers(webhook);
}

type Given = Readonly<Record<string, unknown>>;

interface SetOptions extends ConnectionOptions, PasswordOptions {
  readonly dryRun?: true;
  readonly json?: true;
}

async function setMembers(name: string, file: string, options: SetOptions): Promise<void> {
  if (file === "-" && options.passwordStdin)
    throw new CommandError("Standard input cannot be both the members and the password", 2);
  const given = await readMembers(file);
  const client = openClient(options);
  const before = await client.json<Webhook>("GET", toPath("webhook", name), { has: "name" });
  const { checkMembers, toAnswered } = await import("../server/api/answered-member.ts");
  const after = (member: string) => toAnswered(member, given[member]);
  const changed = pick(
    given,
    (member) => !isDeepStrictEqual(valueOf(before, member), after(member)),
  );
  refuse(() => checkMembers(changed));
  // A change that is refused is not told as one.
  const answered = options.dryRun ? null : await change(client, name, changed, options);
  if (options.json) return printJson(options.dryRun ? changed : (answered ?? before));
  process.stdout.write(describeDifference(before, changed, after));
  // A key that was given is known.
  const key = answered?.key;
  if (key !== undefined && key !== changed["key"])
    process.stdout.write(`\nkey  ${key}  (shown this once)\n`);
}

/** What the service would refuse is no difference. */
function refuse(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw error instanceof RequestError ? new CommandError(error.message) : error;
  }
}

/** @throws CommandError where it is no object of members */
async function readMembers(file: string): Promise<Given> {
  let given: unknown;
  try {
    given = load(await readText(file), { schema: CORE_SCHEMA, maxDepth: 20, maxAliases: 0 });
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`Expected YAML in "${file}": ${(error as Error).message}`);
  }
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Given;
  throw new CommandError(`Expected members of a webhook in "${file}", as "default_mode: async"`);
}

function pick(given: Given, isWanted: (member: string) => boolean): Given {
  return Object.fromEntries(Object.entries(given).filter(([member]) => isWanted(member)));
}

/** A member by a name that may be none of a webhook; of a key, only whether there is one is known. */
function valueOf(webhook: Webhook, member: string): unknown {
  if (member === "key") return webhook.is_key_required ? undefined : null;
  return (webhook as Given)[member];
}

/** Values of keys are never shown. */
function describeDifference(
  before: Webhook,
  changed: Given,
  after: (member: string) => unknown,
): string {
  const lines = Object.keys(changed).map((member) => {
    if (member === "key") return changed[member] === null ? "key: removed\n" : "key: changes\n";
    const [from, to] = [valueOf(before, member) ?? null, after(member)];
    return `${toLine(member)}: ${toJson(from)} -> ${toJson(to)}\n`;
  });
  return lines.length === 0 ? "Nothing differs\n" : lines.join("");
}

/**
 * Members without the password first, so that a webhook is enabled as it is meant to be; before them
 * only the guarded ones that they need, where those are given as they need them.
 */
async function change(
  client: Client,
  name: string,
  changed: Given,
  options: SetOptions,
): Promise<Webhook | null> {
  const guarded = pick(changed, isGuarded);
  const free = pick(changed, (member) => !isGuarded(member));
  const password = isEmpty(guarded) ? "" : await readPassword(QUESTION, options);
  const setting = openSetting(client, name, password);
  const needed: string[] = await setting.set(free).then(
    () => [],
    (error: unknown) => {
      const members = error instanceof RefusedFailure ? findNeeded(error.fields, guarded) : [];
      if (members.length > 0) return members;
      throw error;
    },
  );
  if (needed.length > 0) {
    await setting.set(pick(guarded, (member) => needed.includes(member)));
    await setting.set(free);
  }
  return setting.set(pick(guarded, (member) => !needed.includes(member)));
}

/** Sets members of a webhook one group after the other: what was set before a refusal stays so. */
function openSetting(
  client: Client,
  name: string,
  password: string,
): { set(members: Given): Promise<Webhook | null> } {
  let answered: Webhook | null = null;
  const done: string[] = [];
  return {
    async set(members) {
      if (isEmpty(members)) return answered;
      const path = toPath("webhook", answered?.name ?? name);
      const asked = Object.keys(members).some(isGuarded)
        ? client.json<Webhook>("PUT", `${path}/authentication`, {
            body: { ...members, password },
            has: "name",
          })
        : client.json<Webhook>("PATCH", path, { body: members, has: "name" });
      answered = await asked.catch((error: unknown) => {
        if (!(error instanceof CommandError) || done.length === 0) throw error;
        const before = `Changed before that: ${done.join(", ")}`;
        throw new CommandError(`${error.message}. ${before}`, error.exitCode);
      });
      done.push(...Object.keys(members));
      return answered;
    },
  };
}

function isEmpty(members: Given): boolean {
  return Object.keys(members).length === 0;
}
