import type { Access, Flow } from "../shared/contract/flow.ts";
import type { List } from "../shared/contract/list.ts";
import { Option, type Command } from "commander";
import { CommandError } from "./command-error.ts";
import { openClient, toPath } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { TEST_REPORTERS } from "../shared/wire/trial.ts";
import { toPattern } from "./input.ts";
import { nameFile } from "./excerpt.ts";
import { newFlow } from "./flow-new.ts";
import { runFlow } from "./flow-run.ts";
import { addSchemaCommand } from "./flow-schema.ts";
import { printList, toLine, type Column, type ListOptions } from "./table.ts";

/** Enough of a version to tell two apart. */
const VERSION_LENGTH = 12;

const COLUMNS: readonly Column<Flow>[] = [
  { title: "NAME", of: (flow) => flow.name },
  { title: "STATE", of: (flow) => flow.state },
  { title: "VERSION", of: (flow) => flow.version?.slice(0, VERSION_LENGTH) ?? null },
  { title: "BUNDLE", of: (flow) => flow.bundle },
  { title: "PERMISSIONS", of: (flow) => describePermissions(flow.permissions) },
  { title: "DESCRIPTION", of: (flow) => flow.description },
];

/** The commands about flows. */
export function addFlowCommands(
  program: Command,
  url: readonly [string, string],
  config: readonly [string, string],
): void {
  const flow = program.command("flow").description("Flows");
  flow
    .command("list")
    .description("List flows with state, version, permissions and errors")
    .option("--broken", "only those whose newest version cannot run")
    .option("--json", "print JSON")
    .option(...url)
    .action(listFlows);
  flow
    .command("reload")
    .description(
      "Take up what has changed in the plugins folder, and list the flows as they are then",
    )
    .option("--json", "print JSON")
    .option(...url)
    .action(reloadFlows);
  flow
    .command("new")
    .description("Write a first version of a flow into the plugins folder")
    .argument("<name>", "name of the flow; billing.invoice becomes billing/invoice.ts")
    .option("--test", "with a first test beside it")
    .option(...config)
    .action(newFlow);
  flow
    .command("run")
    .description(
      "Run a flow without a webhook, with or without a service, and print its output_value",
    )
    .argument("<name>")
    .option(
      "--input <input>",
      "input_value: JSON, or a file of it; - reads standard input (default: an empty GET)",
    )
    .addOption(
      new Option("--local", "in this folder, without a service").conflicts(["url", "cacert"]),
    )
    .option("--log", "print its log lines to standard error, as they come")
    .option("--json", "print the whole execution record")
    .option(...url)
    .action(runFlow);
  addSchemaCommand(flow, url);
  flow
    .command("test")
    .description("Run the tests beside the flows (*.test.ts), and each flow in the sandbox")
    .argument("[dir]", "the folder of the configuration, or of the flows", ".")
    .option("--name <pattern>", "only tests whose names fit this regular expression", toPattern)
    .addOption(
      new Option("--reporter <name>", "how they are shown")
        .choices(TEST_REPORTERS)
        .default("spec" as const),
    )
    .action(async (dir, options) => (await import("./flow-test.ts")).testFlows(dir, options));
}

/** Only where a flow comes from another node. */
const NODE: Column<Flow> = { title: "FROM NODE", of: (flow) => flow.node };

async function listFlows(
  options: ConnectionOptions & ListOptions & { broken?: true },
): Promise<void> {
  const client = openClient(options);
  const query = options.broken ? { state: "broken" } : {};
  const { items } = await client.json<List<Flow>>("GET", toPath("flow"), { query, has: "items" });
  const empty = options.broken
    ? "No flow is broken"
    : "No flows yet. Write one with: flowhook flow new NAME";
  printFlows(items, { ...options, empty });
}

/** @throws CommandError where one is broken: what was put there does not serve */
async function reloadFlows(options: ConnectionOptions & ListOptions): Promise<void> {
  const client = openClient(options);
  // New flows are looked at one by one.
  const request = { mayTakeLong: true, has: "items" } as const;
  const { items } = await client.json<List<Flow>>("POST", "/flow/reload", request);
  printFlows(items, { ...options, empty: "The plugins folder has no flows" });
  const broken = items.filter(({ state }) => state === "broken").map(({ name }) => name);
  if (broken.length > 0) throw new CommandError(`Broken: ${broken.map(toLine).join(", ")}`);
}

function printFlows(items: readonly Flow[], options: ListOptions & { empty: string }): void {
  const columns = items.some(({ node }) => node !== null) ? [...COLUMNS, NODE] : COLUMNS;
  printList(items, columns, options);
  if (options.json) return;
  for (const { name, file, error, version } of items)
    if (error !== null)
      process.stdout.write(
        `\n${toLine(name)} is broken${toServing(version)}\n  ${toLine(nameFile(file, error.message))}\n`,
      );
  for (const { name, versions } of items)
    if (versions.length > 0)
      process.stdout.write(
        `\n${toLine(name)} differs between nodes\n${versions.map(toVersionLine).join("")}`,
      );
}

/** The last good version serves all the same, where there is one. */
function toServing(version: string | null): string {
  return version === null ? "" : `, version ${version.slice(0, VERSION_LENGTH)} serves`;
}

function toVersionLine({ node, version }: Flow["versions"][number]): string {
  return `  ${toLine(`${version.slice(0, VERSION_LENGTH)} at ${node}`)}\n`;
}

function describePermissions(permissions: Access | null): string | null {
  if (permissions === null) return null;
  const { net, read, write, secrets } = permissions;
  const parts = Object.entries({ read, write, secrets })
    .filter(([, items]) => items.length > 0)
    .map(([name, items]) => `${name}: ${items.join(" ")}`);
  return [...(net ? ["net"] : []), ...parts].join(", ");
}
