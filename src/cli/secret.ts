import type { Command } from "commander";
import { randomBytes } from "node:crypto";
import type { Secret } from "../shared/contract/secret.ts";
import { openClient, RefusedFailure, toPath, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import type { ConnectionOptions } from "./connection.ts";
import { readText } from "./input.ts";
import { readPassword } from "./prompt.ts";
import { printJson, printList, toTime, type Column, type ListOptions } from "./table.ts";

/** The commands about secrets. */
export function addSecretCommands(program: Command, url: readonly [string, string]): void {
  const secret = program.command("secret").description("Secrets of flows and of signatures");
  secret
    .command("list")
    .description("List the names of secrets; their values cannot be read back")
    .option("--json", "print JSON")
    .option(...url)
    .action(listSecrets);
  secret
    .command("set")
    .description("Set a secret: read from standard input, or typed on a terminal")
    .argument("<name>")
    .option("--generate", "a random one, shown this once")
    .option("--json", "print JSON")
    .option(...url)
    .action(setSecret);
  secret
    .command("delete")
    .description("Delete a secret that no webhook checks signatures with")
    .argument("<name>")
    .option(...url)
    .action(deleteSecret);
}

const COLUMNS: readonly Column<Secret>[] = [
  { title: "NAME", of: ({ name }) => name },
  { title: "CREATED", of: ({ created_at }) => toTime(created_at) },
  { title: "MODIFIED", of: ({ modified_at }) => toTime(modified_at) },
];

async function listSecrets(options: ConnectionOptions & ListOptions): Promise<void> {
  const secrets = await openClient(options).list<Secret>("/secret");
  const empty = "No secrets yet. Set one with: flowhook secret set NAME";
  printList(secrets, COLUMNS, { ...options, empty });
}

/** Bytes of a generated secret: as many as the digest of HMAC-SHA256 has. */
const GENERATED_BYTES = 32;

async function setSecret(
  name: string,
  options: ConnectionOptions & ListOptions & { generate?: true },
): Promise<void> {
  const client = openClient(options);
  const value = options.generate
    ? randomBytes(GENERATED_BYTES).toString("base64url")
    : await readValue(name);
  const replaced = await replace(client, name, value);
  const secret =
    replaced ??
    (await client.json<Secret>("POST", "/secret", { body: { name, value }, has: "name" }));
  // One that was given is known: only a generated one has to be shown.
  if (options.json) return printJson(options.generate ? { ...secret, value } : secret);
  const shown = options.generate ? `: ${value}  (shown this once)` : "";
  const done = replaced === null ? "Created" : "Replaced";
  process.stdout.write(`${done} the secret "${name}"${shown}\n`);
}

const ENCODED = "a text: a secret of bytes is given in base64 or hex";

/** Never an argument: other users of the machine see those. */
async function readValue(name: string): Promise<string> {
  const value = process.stdin.isTTY
    ? await readPassword(`Value of "${name}": `, {})
    : (await readText("-", ENCODED)).replace(/\r?\n$/, "");
  if (value === "") throw new CommandError("Expected the value on standard input, found nothing");
  return value;
}

/** @returns null where there is none of this name */
async function replace(client: Client, name: string, value: string): Promise<Secret | null> {
  try {
    const body = { value };
    return await client.json<Secret>("PATCH", toPath("secret", name), { body, has: "name" });
  } catch (error) {
    if (error instanceof RefusedFailure && error.status === 404) return null;
    throw error;
  }
}

async function deleteSecret(name: string, options: ConnectionOptions): Promise<void> {
  await openClient(options).request("DELETE", toPath("secret", name));
  process.stdout.write(`Deleted the secret "${name}"\n`);
}
