import type { Command } from "commander";
import type { Setting } from "../shared/contract/setting.ts";
import { parseWhole } from "../shared/json-whole.ts";
import { openClient, RefusedFailure, toPath, type Client } from "./client.ts";
import { CommandError } from "./command-error.ts";
import type { ConnectionOptions } from "./connection.ts";
import { readText, withoutMark } from "./input.ts";
import { printJson, printList, toTime, type Column, type ListOptions } from "./table.ts";

/** The commands about settings. */
export function addSettingCommands(program: Command, url: readonly [string, string]): void {
  const setting = program.command("setting").description("Settings, which flows read and write");
  setting
    .command("list")
    .description("List settings by name, with their values")
    .option("--json", "print JSON")
    .option(...url)
    .action(listSettings);
  setting
    .command("get")
    .description("Print the value of a setting as JSON")
    .argument("<name>")
    .option("--json", "print all members of the setting")
    .option(...url)
    .action(getSetting);
  setting
    .command("set")
    .description("Set a setting, whether it is there or not")
    .argument("<name>")
    .argument("<value>", "JSON; - reads standard input")
    .option("--text", "the value is a text as it stands, and no JSON")
    .option("--json", "print JSON")
    .option(...url)
    .action(setSetting);
  setting
    .command("delete")
    .description("Delete a setting")
    .argument("<name>")
    .option(...url)
    .action(deleteSetting);
}

const COLUMNS: readonly Column<Setting>[] = [
  { title: "NAME", of: ({ name }) => name },
  { title: "MODIFIED", of: ({ modified_at }) => toTime(modified_at) },
  { title: "VALUE", of: ({ value }) => JSON.stringify(value) },
];

async function listSettings(options: ConnectionOptions & ListOptions): Promise<void> {
  const settings = await openClient(options).list<Setting>("/setting");
  const empty = "No settings yet. Set one with: flowhook setting set NAME VALUE";
  printList(settings, COLUMNS, { ...options, empty });
}

async function getSetting(name: string, options: ConnectionOptions & ListOptions): Promise<void> {
  const setting = await openClient(options).json<Setting>("GET", toPath("setting", name), {
    has: "value",
  });
  printJson(options.json ? setting : setting.value);
}

async function setSetting(
  name: string,
  given: string,
  options: ConnectionOptions & ListOptions & { text?: true },
): Promise<void> {
  const client = openClient(options);
  const value = await readValue(given, options);
  const replaced = await replace(client, name, value);
  const setting =
    replaced ??
    (await client.json<Setting>("POST", "/setting", { body: { name, value }, has: "value" }));
  if (options.json) return printJson(setting);
  process.stdout.write(`${replaced === null ? "Created" : "Replaced"} the setting "${name}"\n`);
}

/** @throws CommandError where it is no JSON */
async function readValue(given: string, { text: isText }: { text?: true }): Promise<unknown> {
  const text = given === "-" ? await readText("-") : given;
  if (isText) return given === "-" ? text.replace(/\r?\n$/, "") : text;
  try {
    return parseWhole(withoutMark(text));
  } catch (error) {
    const { message } = error as Error;
    throw new CommandError(`Expected JSON: ${message}. For a text as it stands: --text`, 2);
  }
}

/** @returns null where there is none of this name */
async function replace(client: Client, name: string, value: unknown): Promise<Setting | null> {
  try {
    return await client.json<Setting>("PATCH", toPath("setting", name), {
      body: { value },
      has: "value",
    });
  } catch (error) {
    if (error instanceof RefusedFailure && error.status === 404) return null;
    throw error;
  }
}

async function deleteSetting(name: string, options: ConnectionOptions): Promise<void> {
  await openClient(options).request("DELETE", toPath("setting", name));
  process.stdout.write(`Deleted the setting "${name}"\n`);
}
