import type { AuthenticatedWebhook as Webhook } from "../shared/contract/webhook.ts";
import { Option, type Command } from "commander";
import { openClient, toPath } from "./client.ts";
import { toLastWord, type ConnectionOptions } from "./connection.ts";
import { toCount } from "./input.ts";
import { findProjectId } from "./project.ts";
import { printJson, printList, type Column, type ListOptions } from "./table.ts";
import { addAuthenticationCommands } from "./webhook-authentication.ts";
import { describeAdmission, printWebhook } from "./webhook-fields.ts";
import { addMemberCommands } from "./webhook-members.ts";
import { addOpenapiCommand } from "./webhook-openapi.ts";
import { addRefusalCommand } from "./webhook-refusals.ts";
import { addTransferCommands } from "./webhook-transfer.ts";

const COLUMNS: readonly Column<Webhook>[] = [
  { title: "NAME", of: (row) => row.name },
  { title: "ENABLED", of: (row) => row.is_enabled },
  { title: "MODE", of: (row) => (row.is_productive ? "productive" : "development") },
  { title: "ADMITS", of: describeAdmission },
  { title: "FLOW", of: (row) => row.flow },
  { title: "ROLE", of: (row) => row.role },
  { title: "URL", of: (row) => row.url },
];

/** The commands about webhooks. */
export function addWebhookCommands(program: Command, url: readonly [string, string]): void {
  const webhook = program.command("webhook").description("Webhooks");
  webhook
    .command("list")
    .description("List webhooks by name")
    .option("--flow <name>", "only those of a flow")
    .option("--text <part>", "only those with this part in their name or description")
    .addOption(new Option("--enabled", "only enabled ones").conflicts("disabled"))
    .option("--disabled", "only disabled ones")
    .option("--limit <count>", "at most so many (default: all)", toCount)
    .option("--json", "print JSON")
    .option(...url)
    .action(listWebhooks);
  webhook
    .command("create")
    .description(
      "Create a webhook from a flow: disabled, with a random key that is shown this once",
    )
    .argument("<name>", "short, meaningful, without spaces")
    .requiredOption("--flow <name>", "the flow that a call starts")
    .option("--description <text>")
    .option("--role <name>", 'what its executions may do (default: the role "webhook")')
    .option("--no-role", "its executions may do nothing")
    .addOption(new Option("--project <name>", "the project it is in").conflicts("bundle"))
    .option("--bundle <name>", "the bundle it is in")
    .option("--development", "start executions in development mode")
    .addOption(new Option("--sync-mode <mode>").choices(["redirect", "hold"]))
    .addOption(
      new Option("--execution-location <place>", "whose project executions get").choices([
        "webhook",
        "flow",
      ]),
    )
    .option("--json", "print JSON")
    .option(...url)
    .action(createWebhook);
  webhook
    .command("delete")
    .description("Delete a webhook; its executions stay")
    .argument("<name>")
    .option(...url)
    .action(deleteWebhook);
  addMemberCommands(webhook, url);
  addRefusalCommand(webhook, url);
  addOpenapiCommand(webhook, url);
  addAuthenticationCommands(webhook, url);
  addTransferCommands(webhook, url);
}

interface ListFilter extends ConnectionOptions, ListOptions {
  readonly flow?: string;
  readonly text?: string;
  readonly enabled?: true;
  readonly disabled?: true;
  readonly limit?: number;
}

async function listWebhooks(options: ListFilter): Promise<void> {
  const { flow, text, enabled, disabled, limit } = options;
  const is_enabled = enabled === disabled ? undefined : String(enabled === true);
  const query = { flow, text, is_enabled };
  const client = openClient(options);
  const { items, hasMore } = await client.first<Webhook>("/webhook", query, limit);
  const isFiltered = Object.values(query).some((value) => value !== undefined);
  const empty = isFiltered
    ? "No webhook matches"
    : "No webhooks yet. Create one with: flowhook webhook create NAME --flow FLOW";
  printList(items, COLUMNS, { ...options, empty, hasMore });
}

interface CreateOptions extends ConnectionOptions, ListOptions {
  readonly flow: string;
  readonly description?: string;
  /** false: none. */
  readonly role?: string | false;
  readonly project?: string;
  readonly bundle?: string;
  readonly development?: true;
  readonly syncMode?: "redirect" | "hold";
  readonly executionLocation?: "webhook" | "flow";
}

async function createWebhook(name: string, options: CreateOptions): Promise<void> {
  const client = openClient(options);
  const { flow, description, role, project, bundle, development } = options;
  const body = {
    name,
    flow,
    description,
    role: role === false ? null : typeof role === "string" ? role : undefined,
    project_id: project === undefined ? undefined : await findProjectId(client, project),
    bundle_id: bundle,
    is_productive: development ? false : undefined,
    sync_mode: options.syncMode,
    execution_location: options.executionLocation,
  };
  const webhook = await client.json<Webhook>("POST", toPath("webhook"), { body, has: "name" });
  if (options.json) return printJson(webhook);
  printWebhook(webhook);
  process.stdout.write(`\nEnable it with: flowhook webhook enable ${toLastWord(webhook.name)}\n`);
}

async function deleteWebhook(name: string, options: ConnectionOptions): Promise<void> {
  await openClient(options).request("DELETE", toPath("webhook", name));
  process.stdout.write(`Deleted the webhook "${name}"; its executions stay\n`);
}
