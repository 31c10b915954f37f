import { basename } from "node:path";
import { isHidden, type ConfigValue } from "../server/config/values.ts";
import { readConfiguration } from "./configuration.ts";
import { printJson, printList, type Column, type ListOptions } from "./table.ts";

const COLUMNS: readonly Column<ConfigValue>[] = [
  { title: "KEY", of: ({ key }) => key },
  { title: "VALUE", of: describeValue },
  { title: "FROM", of: describeSource },
];

/**
 * Prints each key with its value, as a service would have it that is started here and now.
 *
 * @throws ConfigError where the configuration is wrong
 */
export function printConfig(options: { config?: string } & ListOptions): void {
  const { file, values, warnings } = readConfiguration(options);
  for (const warning of warnings) process.stderr.write(`${warning}\n`);
  if (options.json) return printJson({ file, items: values });
  process.stdout.write(`Configuration file: ${file ?? "none"}\n\n`);
  printList(values, COLUMNS, { empty: "" });
}

function describeValue(one: ConfigValue): string {
  if (isHidden(one)) return "(hidden)";
  const { value } = one;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The file is named above the table. */
function describeSource({ source, place, overrides }: ConfigValue): string {
  if (place === null) return "default";
  if (source === "file") return basename(place);
  return overrides === null ? place : `${place}, not ${basename(overrides)}`;
}
