import type { Command } from "commander";
import { ExactNumber } from "../shared/json-exact.ts";
import { openClient, toPath } from "./client.ts";
import type { ConnectionOptions } from "./connection.ts";
import { toJson } from "./table.ts";

export function addSchemaCommand(flow: Command, url: readonly [string, string]): void {
  flow
    .command("schema")
    .description("Print a draft of a flow's input schema, which the input of an execution fits")
    .requiredOption("--execution <id>", "the execution")
    .option(...url)
    .action(printSchema);
}

/** Prints a valibot schema that the input of an execution fits, as it would stand in a flow. */
async function printSchema({
  execution,
  ...options
}: ConnectionOptions & { readonly execution: string }): Promise<void> {
  const path = toPath("execution", execution);
  const record = await openClient(options).json<{ input_value: unknown }>("GET", path, {
    has: "input_value",
  });
  process.stdout.write(`${draftSchema(record.input_value)}\n`);
}

/** Of a call its `json`, and its `query` where it has one; of any other input the whole. */
export function draftSchema(input: unknown): string {
  if (!isRecord(input) || !isOfCall(input)) return draft([input]);
  const { json, query } = input;
  const hasQuery = isRecord(query) && Object.keys(query).length > 0;
  return draft([{ ...("json" in input ? { json } : {}), ...(hasQuery ? { query } : {}) }]);
}

/** Whether a flow is given it as a call, or as a part of one: with another member it is the flow's own. */
function isOfCall(input: Readonly<Record<string, unknown>>): boolean {
  if (!Object.keys(input).every((name) => OF_CALL.includes(name))) return false;
  const { query } = input;
  const isQuery = isRecord(query) && Object.values(query).every((text) => typeof text === "string");
  return "json" in input || isQuery;
}

const OF_CALL = ["method", "path", "headers", "query", "auth", "json"];

const SCALARS = ["string", "number", "boolean"] as const;

/** What each of some values fits that stand in one place. */
function draft(values: readonly unknown[]): string {
  const scalars = SCALARS.filter((type) => values.some((value) => isOf(value, type)));
  const records = values.filter(isRecord);
  const lists = values.filter((value) => Array.isArray(value));
  const drafts = [
    ...scalars.map((type) => `v.${type}()`),
    ...(records.length === 0 ? [] : [draftObject(records)]),
    ...(lists.length === 0 ? [] : [around("array", draft(lists.flat()))]),
  ];
  const hasNull = values.includes(null);
  if (drafts.length === 0) return hasNull ? "v.null()" : "v.unknown()";
  const [only = "", ...others] = drafts;
  const all = others.length === 0 ? only : `v.union(${inBrackets("[]", drafts)})`;
  return hasNull ? around("nullable", all) : all;
}

function isOf(value: unknown, type: (typeof SCALARS)[number]): boolean {
  return value instanceof ExactNumber ? type === "number" : typeof value === type;
}

/** Members that not all have are optional. */
function draftObject(records: readonly Readonly<Record<string, unknown>>[]): string {
  const found = new Map<string, unknown[]>();
  for (const [name, value] of records.flatMap((record) => Object.entries(record))) {
    const values = found.get(name) ?? [];
    values.push(value);
    if (name !== PROTO) found.set(name, values);
  }
  const members = [...found].map(([name, values]) => {
    const drafted = draft(values);
    const schema = values.length === records.length ? drafted : around("optional", drafted);
    return `${PLAIN_NAME.test(name) ? name : toJson(name)}: ${schema}`;
  });
  return `v.object(${inBrackets("{}", members)})`;
}

function around(name: string, drafted: string): string {
  if (!drafted.includes("\n")) return `v.${name}(${drafted})`;
  return `v.${name}(\n  ${drafted.replaceAll("\n", "\n  ")},\n)`;
}

/** In an object it would be no member. */
const PROTO = "__proto__";

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** The longest line of a list. */
const WIDTH = 100;

/** Members stand in lines of their own, and options only where one line is not enough. */
function inBrackets(brackets: "{}" | "[]", parts: readonly string[]): string {
  const [open = "", close = ""] = brackets;
  if (parts.length === 0) return brackets;
  const line = parts.join(", ");
  if (brackets === "[]" && !line.includes("\n") && line.length < WIDTH) return `[${line}]`;
  const lines = parts.map((part) => `  ${part.replaceAll("\n", "\n  ")},\n`);
  return `${open}\n${lines.join("")}${close}`;
}

/** A number whose digits are kept is an object too. */
function isRecord(value: unknown): value is Record<string, unknown> {
  if (value instanceof ExactNumber) return false;
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
