import type { Imported, ImportedWebhook } from "../shared/contract/webhook-document.ts";
import { writeFileSync } from "node:fs";
import { Option, type Command } from "commander";
import { CORE_SCHEMA, load } from "js-yaml";
import { openClient } from "./client.ts";
import { toLastWord, toOptions, type ConnectionOptions } from "./connection.ts";
import { CommandError } from "./command-error.ts";
import { readText } from "./input.ts";
import { readBody } from "./unsent-request.ts";
import { printFields, printJson, printList, type Column, type ListOptions } from "./table.ts";

/** The commands that carry webhooks from one service to another. */
export function addTransferCommands(webhook: Command, url: readonly [string, string]): void {
  webhook
    .command("export")
    .description("Print webhooks as YAML; never their keys, nor whether they are enabled")
    .argument("[names...]", "webhooks (default: all)")
    .option("-o, --output <file>", "write to a file; - is standard output")
    .option(...url)
    .action(exportWebhooks);
  webhook
    .command("import")
    .description("Create webhooks from YAML: disabled, with new keys; all of them or none")
    .argument("<file>", "what export wrote; - reads standard input")
    .option("--dry-run", "show what would be done, and do nothing")
    .addOption(
      new Option("--conflicts <way>", "what to do about a name that is taken")
        .choices(["skip", "replace", "rename"])
        .default("skip"),
    )
    .option("--json", "print JSON")
    .option(...url)
    .action(importWebhooks);
}

async function exportWebhooks(
  names: readonly string[],
  options: ConnectionOptions & { output?: string },
): Promise<void> {
  const answer = await openClient(options).request("GET", "/export", { query: { webhook: names } });
  const text = await readBody(answer, () => answer.text());
  const { output = "-" } = options;
  if (output === "-") return void process.stdout.write(text);
  try {
    writeFileSync(output, text);
  } catch (error) {
    throw new CommandError(`Cannot write the export: ${(error as Error).message}`);
  }
}

const COLUMNS: readonly Column<ImportedWebhook>[] = [
  { title: "WEBHOOK", of: (step) => step.name },
  { title: "ACTION", of: (step) => step.action },
  { title: "CHANGES", of: describeChanges },
];

async function importWebhooks(
  file: string,
  options: ConnectionOptions & ListOptions & { dryRun?: true; conflicts: string },
): Promise<void> {
  const yaml = await readText(file);
  const query = { dry_run: String(options.dryRun === true), conflicts: options.conflicts };
  const client = openClient(options);
  const request = { yaml, query, mayTakeLong: true, has: "items" } as const;
  const answer = await client.json<Imported>("POST", "/import", request);
  if (options.json) return printJson(answer);
  printList(answer.items, COLUMNS, { empty: "The document has no webhooks" });
  printKeys(answer.items);
  printSigned(answer.items, yaml, options);
  if (options.dryRun) process.stdout.write("\nNothing was changed: this was a dry run\n");
}

/** Whole, below the table, whose lines are cut to the terminal: nobody can ask for a key again. */
function printKeys(items: readonly ImportedWebhook[]): void {
  const keys = items.filter(({ key }) => key !== undefined).map(({ name, key }) => [name, key]);
  if (keys.length === 0) return;
  process.stdout.write("\nKeys, shown this once\n");
  printFields(Object.fromEntries(keys));
}

/** Whether a webhook had a key is not carried, so that a sender which signs and sends none is refused. */
function printSigned(
  items: readonly ImportedWebhook[],
  yaml: string,
  options: ConnectionOptions,
): void {
  const document = load(yaml, { schema: CORE_SCHEMA, maxDepth: 10, maxAliases: 0 }) as {
    readonly webhooks: readonly { readonly signature?: unknown }[];
  };
  const isSigned = (at: number) => (document.webhooks[at]?.signature ?? null) !== null;
  const signed = items.filter(({ key }, at) => key !== undefined && isSigned(at));
  if (signed.length === 0) return;
  process.stdout.write(
    "\nCalls of these need a signature and the key. If the sender sends no key:\n",
  );
  for (const { name } of signed)
    process.stdout.write(`flowhook webhook key --none${toOptions(options)} ${toLastWord(name)}\n`);
}

function describeChanges({ action, changes }: ImportedWebhook): string {
  const parts = Object.entries(changes).map(
    ([member, { from, to }]) => `${member}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}`,
  );
  return parts.length === 0 && action === "replace" ? "none" : parts.join(", ");
}
