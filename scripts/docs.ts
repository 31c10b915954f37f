import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { listPages } from "../src/assets/manual.ts";
import { createProgram } from "../src/cli/program.ts";
import { FIRST_ROLES } from "../src/server/access/permission.ts";
import { ROUTES } from "../src/server/api/routes.ts";
import { describeConfig } from "../src/server/config/schema.ts";
import { METRICS, type MetricDescription } from "../src/server/metrics/metric-table.ts";
import { ERRORS } from "../src/shared/contract/error.ts";
import { makeDeclarations } from "./declarations.ts";
import { makeNotices, NOTICES } from "./notices.ts";
import { ROOT } from "./targets.ts";

/**
 * `npm run docs`: rewrites the parts of README.md and of the pages that are made from the program,
 * the declarations that editors need for flows, and the licences of what a build carries.
 */

/** Files with generated parts, relative to the sources: the names of the parts in each. */
export const GENERATED: Readonly<Record<string, readonly (keyof typeof PARTS)[]>> = {
  "README.md": ["pages"],
  "src/assets/docs/api.md": ["routes"],
  "src/assets/docs/command-line.md": ["commands"],
  "src/assets/docs/configuration.md": ["config"],
  "src/assets/docs/errors.md": ["errors"],
  "src/assets/docs/operating.md": ["metrics"],
  "src/assets/docs/security.md": ["roles"],
};

const PARTS = {
  config: configTable,
  errors: errorTable,
  routes: routeTable,
  commands: commandTable,
  pages: pageList,
  metrics: metricTable,
  roles: roleTable,
};

/** A file's text with each of its generated parts renewed. */
export function renew(file: string): string {
  const names = GENERATED[file] ?? [];
  return names.reduce(
    (text, name) => replacePart(text, file, name, PARTS[name]()),
    readFileSync(join(ROOT, file), "utf8"),
  );
}

/** The pages of the documentation, in the order in which they are read. */
function pageList(): string {
  return listPages()
    .map(({ name, title, summary }) => `- [${title}](src/assets/docs/${name}.md): ${summary}`)
    .join("\n");
}

/** The table of refusals, made from the registry. */
function errorTable(): string {
  const rows = Object.entries(ERRORS).sort(([, a], [, b]) => a.status - b.status);
  return toTable(
    ["Status", "Code (the end of `type`)", "Title"],
    rows.map(([code, { status, title }]) => [String(status), `\`${code}\``, title]),
  );
}

/** The table of the roles at first start, as the first start makes them. */
function roleTable(): string {
  const rows = FIRST_ROLES.map(({ name, permissions, propagate }) => {
    const allowed = permissions.map((permission) => `\`${permission}\``).join(", ");
    return [`\`${name}\``, allowed, propagate ? "yes" : "no"];
  });
  return toTable(["Role", "May", "Also what its flows do"], rows);
}

/** The table of metrics, made from their registry. */
function metricTable(): string {
  const rows = Object.entries<MetricDescription>(METRICS).map(([name, { type, labels, help }]) => {
    const given = labels.length === 0 ? "" : `{${labels.join(", ")}}`;
    return [`\`${name}${given}\``, type, help];
  });
  return toTable(["Metric", "Type", "What"], rows);
}

/** The table of commands, made from the command table. */
function commandTable(): string {
  return toTable(
    ["Command", "What"],
    createProgram().commands.flatMap((one) => toRows(one, [])),
  );
}

function toRows(command: Command, parents: readonly string[]): string[][] {
  // Each group has one of its own.
  if (command.name() === "help" && parents.length > 0) return [];
  const names = [...parents, command.name()];
  if (command.commands.length > 0) return command.commands.flatMap((one) => toRows(one, names));
  const given = command.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? name.toUpperCase() : `[${name.toUpperCase()}]`;
  });
  return [[`\`${[...names, ...given].join(" ")}\``, command.description()]];
}

/** The table of the management API, made from its routes. */
function routeTable(): string {
  return toTable(
    ["Method and path", "What", "Needs"],
    ROUTES.map(({ method, path, summary, needs }) => [
      `\`${method} ${path.replace(/:(\w+)/g, "{$1}")}\``,
      summary,
      needs === "login" ? "a login" : needs === "anyone" ? "-" : `\`${needs}\``,
    ]),
  );
}

/** The table of the configuration, made from its schema. */
function configTable(): string {
  const rows = describeConfig().map((row) => [
    `\`${row.key}\``,
    row.default,
    row.type,
    row.meaning,
  ]);
  return toTable(["Key", "Default", "Value", "Meaning"], rows);
}

function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(toCell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function replacePart(text: string, file: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${file} lacks "${begin}" and "${end}"`);
  return `${text.slice(0, from + begin.length)}\n${content}\n${text.slice(to)}`;
}

function toCell(text: string): string {
  return text.replaceAll("|", "\\|");
}

if (import.meta.main) {
  for (const file of Object.keys(GENERATED)) writeFileSync(join(ROOT, file), renew(file));
  for (const [path, text] of makeDeclarations()) writeFileSync(path, text);
  writeFileSync(NOTICES, makeNotices());
}
