import { styleText } from "node:util";
import type { ManualPage } from "../assets/manual.ts";

/** Longer lines are hard to read, however wide the terminal is. */
const WIDEST = 100;

/** A page for whoever reads it on a terminal: lines are wrapped, and wide tables become lists. */
export function toTerminal({ text }: Pick<ManualPage, "text">, columns: number): string {
  // A terminal that does not tell its width says 0.
  const width = Math.min(columns || WIDEST, WIDEST);
  return toBlocks(text)
    .map((block) => showBlock(block, width))
    .join("\n\n")
    .concat("\n");
}

/** Parts of a page: what empty lines part, except for code, which is one block. */
function toBlocks(text: string): string[] {
  const blocks = text.matchAll(/^```[^]*?^```$|^(?!$)(?:(?!```).+\n?)+/gm);
  return [...blocks].map(([block]) => block.trimEnd());
}

function showBlock(block: string, width: number): string {
  if (block.startsWith("```")) return block.split("\n").slice(1, -1).map(indent).join("\n");
  const [, title] = /^#+ (.+)$/.exec(block) ?? [];
  if (title !== undefined) return styleText("bold", toPlain(title));
  if (block.startsWith("|")) return showTable(block, width);
  return block
    .split(/\n(?=\s*(?:-|\d+\.) )/)
    .map((item) => showItem(item, width))
    .join("\n");
}

/** A paragraph, or an item of a list, whose further lines stand below its words. */
function showItem(item: string, width: number): string {
  const sign = /^\s*(?:-|\d+\.) /.exec(item)?.[0] ?? "";
  return wrap(toPlain(item.slice(sign.length)), width, sign, " ".repeat(sign.length));
}

function showTable(block: string, width: number): string {
  const rows = block.split("\n").map(toCells);
  const [head = [], , ...body] = rows;
  const widths = head.map((_, at) =>
    Math.max(...[head, ...body].map((row) => (row[at] ?? "").length)),
  );
  if (widths.reduce((sum, one) => sum + one + 2, -2) > width) return showList(head, body, width);
  const toLine = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  return [styleText("bold", toLine(head)), ...body.map(toLine)].join("\n");
}

/** Each row by its first cell, with the others below it. */
function showList(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const items = rows.map(([first = "", ...others]) => {
    const lines = others.map((cell, at) => {
      const name = others.length === 1 ? "" : `${head[at + 1] ?? ""}: `;
      return cell === "" ? [] : wrap(name + cell, width, "  ", name === "" ? "  " : "    ");
    });
    return [styleText("bold", wrap(first, width, "", "")), ...lines.flat()].join("\n");
  });
  return items.join("\n");
}

/** A sign within a cell is escaped. */
function toCells(row: string): string[] {
  return row
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => toPlain(cell.trim().replaceAll("\\|", "|")));
}

/** Links by their words; what stands in code stays as it is. */
function toPlain(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((piece, at) =>
      at % 2 === 1
        ? piece.slice(1, -1)
        : piece.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("**", ""),
    )
    .join("");
}

function wrap(text: string, width: number, first: string, others: string): string {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(/\s+/)) {
    const isStart = line === first || line === others;
    if (!isStart && line.length + word.length + 1 > width) {
      lines.push(line);
      line = others + word;
    } else line += isStart ? word : ` ${word}`;
  }
  return [...lines, line].join("\n");
}

function indent(line: string): string {
  return line === "" ? "" : `    ${line}`;
}
