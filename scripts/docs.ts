import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeConfig } from "../src/config/schema.ts";

/** `npm run docs`: rewrites the parts of README.md that are made from the program. */

export const README = join(import.meta.dirname, "../README.md");

/** The text with each generated part renewed. */
export function renew(readme: string): string {
  return replacePart(readme, "config", configTable());
}

/** The table of the configuration, made from its schema. */
export function configTable(): string {
  const rows = describeConfig().map((row) =>
    [`\`${row.key}\``, row.default, row.type, row.meaning].map(toCell).join(" | "),
  );
  return [
    "| Key | Default | Value | Meaning |",
    "|---|---|---|---|",
    ...rows.map((row) => `| ${row} |`),
  ].join("\n");
}

function replacePart(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`README.md lacks "${begin}" and "${end}"`);
  return `${text.slice(0, from + begin.length)}\n${content}\n${text.slice(to)}`;
}

function toCell(text: string): string {
  return text.replaceAll("|", "\\|");
}

if (import.meta.main) {
  writeFileSync(README, renew(readFileSync(README, "utf8")));
}
