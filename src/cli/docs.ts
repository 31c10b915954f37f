import { findPage, listPages, nearestPage, type ManualPage } from "../assets/manual.ts";
import { search } from "../assets/sections.ts";
import { CommandError } from "./command-error.ts";
import { printJson, printList, type Column, type ListOptions } from "./table.ts";
import { toTerminal } from "./terminal-page.ts";

interface DocsOptions extends ListOptions {
  readonly search?: string;
}

type Line = Pick<ManualPage, "name" | "summary">;

const COLUMNS: readonly Column<Line>[] = [
  { title: "TOPIC", of: ({ name }) => name },
  { title: "ABOUT", of: ({ summary }) => summary },
];

/**
 * Prints a page of the documentation, or what pages there are: wrapped for a terminal, and as
 * Markdown for everybody else.
 */
export function printDocs(topic: string | undefined, options: DocsOptions): void {
  if (options.search !== undefined) printFound(topic, options.search, options);
  else if (topic === undefined) printTopics(options);
  else printPage(need(topic), options);
}

function printTopics(options: ListOptions): void {
  const lines = listPages().map(({ name, title, summary }) => ({ name, title, summary }));
  printList(lines, COLUMNS, { ...options, empty: "" });
  if (!options.json) process.stdout.write("\nflowhook docs TOPIC prints one of them\n");
}

function printPage(page: ManualPage, options: ListOptions): void {
  const { isTTY, columns } = process.stdout;
  if (options.json) printJson(page);
  else process.stdout.write(isTTY ? toTerminal(page, columns) : page.text);
}

function printFound(topic: string | undefined, query: string, options: ListOptions): void {
  const pages = topic === undefined ? listPages() : [need(topic)];
  const found = search(pages, query).map(({ page, title, anchor, excerpt }) => {
    return { name: page.name, title, anchor, excerpt };
  });
  if (options.json) return printJson(found);
  if (found.length === 0) throw new CommandError(`No page has all of "${query}"`);
  for (const { name, title, excerpt } of found)
    process.stdout.write(`${name}: ${title}\n  ${excerpt}\n\n`);
}

function need(topic: string): ManualPage {
  const page = findPage(topic);
  if (page !== undefined) return page;
  const nearest = nearestPage(topic);
  const hint = nearest === null ? "" : ` Did you mean "${nearest}"?`;
  const names = listPages().map(({ name }) => name);
  throw new CommandError(
    `There is no page "${topic}".${hint} The pages are ${names.join(", ")}`,
    2,
  );
}
