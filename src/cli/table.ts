/** Tables for people. */

export interface Column<Row> {
  readonly title: string;
  of(row: Row): string | number | boolean | null;
}

/** How lists are printed: `--json` for scripts, a table otherwise. */
export interface ListOptions {
  readonly json?: true;
}

/**
 * Prints a list: all members as a JSON array, or the columns as a table.
 *
 * @param empty what people read where there is nothing, with what to do about it
 * @param hasMore whether a limit left some out: whoever works through the list is told
 */
export function printList<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: ListOptions & { empty: string; hasMore?: boolean },
): void {
  if (options.json) printJson(rows);
  else if (rows.length === 0) process.stdout.write(`${options.empty}\n`);
  else process.stdout.write(toTable(rows, columns, process.stdout.columns));
  if (options.hasMore)
    process.stderr.write(`${rows.length} shown, there are more: --limit sets how many\n`);
}

/** Indented, for people and scripts alike. */
export function printJson(value: unknown): void {
  process.stdout.write(`${toJson(value, 2)}\n`);
}

/** JSON itself leaves some characters as they are that a terminal would obey. */
export function toJson(value: unknown, indentation = 0): string {
  return JSON.stringify(value ?? null, null, indentation).replace(
    /[\u007f-\u009f]|\p{Bidi_Control}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Names and values below each other; what is null is left out. */
export function printFields(fields: Readonly<Record<string, unknown>>): void {
  const shown = Object.entries(fields).filter(([, value]) => value !== null && value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown)
    process.stdout.write(`${name.padEnd(width)}  ${toLine(String(value))}\n`);
}

/** @param columns width of the terminal, to which lines are cut; undefined: they are not */
export function toTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  terminal?: number,
): string {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map((column) => toCell(column.of(row)))),
  ];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => widthOf(line[at] ?? ""))));
  const lines = cells.map((line) => line.map((cell, at) => pad(cell, widths[at] ?? 0)).join("  "));
  return lines.map((line) => `${cut(line.trimEnd(), terminal)}\n`).join("");
}

/** A time of the API to the second: `2026-01-31 09:30:00Z`. */
export function toTime(iso: string | null): string | null {
  return iso === null ? null : `${iso.slice(0, 19).replace("T", " ")}Z`;
}

/** Texts come from flows and callers: no control character of theirs reaches the terminal. */
export function toLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}]+/gu, " ");
}

/** The same for a text that may have several lines. */
export function toLines(text: string): string {
  return text.split("\n").map(toLine).join("\n");
}

function toCell(value: string | number | boolean | null): string {
  if (value === null || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return toLine(String(value));
}

/** Of a grapheme: East Asian wide and fullwidth letters (UAX 11), and what is shown as an emoji. */
const WIDE =
  /\p{Emoji_Presentation}|\ufe0f|[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

/** Nothing is seen of these, also where no letter is before them. */
const UNSEEN = /^[\p{Mn}\p{Me}\u200b-\u200d\u2060-\u2064\ufeff]+$/u;

const ASCII = /^[ -~]*$/;

let segmenter: Intl.Segmenter | undefined;

/** Its tables are read when it is made, which would cost each start of the program 20 ms. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** A text and as many blanks as fill so many columns. */
export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += widthOfOne(segment);
  return width;
}

function widthOfOne(grapheme: string): number {
  if (UNSEEN.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}

/** A terminal that does not tell its width says 0. */
function cut(line: string, terminal = 0): string {
  if (terminal === 0 || widthOf(line) <= terminal) return line;
  let kept = "";
  let width = 0;
  for (const { segment } of graphemesOf(line)) {
    width += widthOfOne(segment);
    if (width > terminal - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
