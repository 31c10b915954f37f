import type { ManualPage } from "./manual.ts";

/** What stands below one heading of a page. */
export interface Section {
  readonly page: ManualPage;
  /** 1 for the page's title. */
  readonly level: number;
  readonly title: string;
  /** What a link to it ends with, as GitHub makes it. */
  readonly anchor: string;
  /** Words without the signs of Markdown. */
  readonly text: string;
}

export interface Found extends Section {
  /** A line or two around the first word that was found. */
  readonly excerpt: string;
}

const EXCERPT_LENGTH = 180;
const MOST_FOUND = 30;
/** More of a query is left out: each word is looked for in each section. */
const MOST_WORDS = 10;
const QUERY_LENGTH = 200;

/** Pages do not change while the program runs. */
const kept = new WeakMap<ManualPage, readonly Section[]>();

/** The sections of a page; what looks like a heading within code is none. */
export function sectionsOf(page: ManualPage): readonly Section[] {
  const sections = kept.get(page) ?? splitSections(page);
  kept.set(page, sections);
  return sections;
}

function splitSections(page: ManualPage): Section[] {
  const anchorOf = openAnchors();
  const sections: (Omit<Section, "text"> & { lines: string[] })[] = [];
  let isCode = false;
  for (const line of page.text.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const [, signs, words] = (!isCode && /^(#{1,6}) (.+)$/.exec(line)) || [];
    if (signs === undefined || words === undefined) sections.at(-1)?.lines.push(line);
    else {
      const title = toPlain(words);
      sections.push({ page, level: signs.length, title, anchor: anchorOf(title), lines: [] });
    }
  }
  return sections.map(({ lines, ...section }) => ({ ...section, text: toPlain(lines.join("\n")) }));
}

/** Makes the anchors of one page: a title that comes again gets a number. */
export function openAnchors(): (title: string) => string {
  const counts = new Map<string, number>();
  return (title) => {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
}

/** The sections that have all the words, whatever their case; titles count most. */
export function search(pages: readonly ManualPage[], query: string): Found[] {
  const words = toWords(query);
  if (words.length === 0) return [];
  return pages
    .flatMap(sectionsOf)
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MOST_FOUND)
    .map(({ section }) => ({ ...section, excerpt: excerptOf(section.text, words) }));
}

/** The words of a query, in lower case. */
export function toWords(query: string): string[] {
  const words = query.slice(0, QUERY_LENGTH).toLowerCase().split(/\s+/);
  return words.filter((word) => word !== "").slice(0, MOST_WORDS);
}

/** These say what was agreed; whoever searches wants to know how first. */
const BINDING: readonly string[] = ["specification", "contract"];

/** 0 where a word is missing. */
function scoreOf({ page, title, level, text }: Section, words: readonly string[]): number {
  const [heading, body] = [fold(`${page.name} ${title}`), fold(text)];
  let score = 0;
  for (const word of words.map(fold)) {
    const count = body.split(word).length - 1;
    const isInHeading = heading.includes(word);
    if (count === 0 && !isInHeading) return 0;
    score += Math.min(count, 5) + (isInHeading ? 10 : 0);
  }
  const isPhrase = `${heading} ${body}`.includes(fold(words.join(" ")));
  const isTitle = fold(title) === fold(words.join(" "));
  const weight = BINDING.includes(page.name) ? 0.5 : 1;
  const named = (isPhrase ? 5 : 0) + (isTitle ? 5 : 0);
  return weight * (score + named + (level === 1 ? 1 : 0));
}

/** "Time-out" is found as "timeout", too. */
function fold(text: string): string {
  return text.toLowerCase().replaceAll("-", "");
}

function excerptOf(text: string, words: readonly string[]): string {
  const flat = text.replace(/\s+/g, " ").trim();
  const places = words.map((word) => flat.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const from = Math.max(0, Math.min(...places, flat.length) - EXCERPT_LENGTH / 3);
  const start = from === 0 ? 0 : flat.indexOf(" ", from) + 1;
  const cut = flat.slice(start, start + EXCERPT_LENGTH);
  const isWhole = start + EXCERPT_LENGTH >= flat.length;
  return `${start > 0 ? "… " : ""}${isWhole ? cut : `${cut.replace(/\s+\S*$/, "")} …`}`;
}

/** Without the signs of Markdown: links by their words, rows of tables as lines. */
function toPlain(markdown: string): string {
  return markdown
    .replace(/^```.*$/gm, "")
    .replace(/^\|[\s|:-]+\|$/gm, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/^ *- /gm, "")
    .replace(/[*`]/g, "")
    .replace(/(^\| | \|$)/gm, "")
    .replaceAll(" | ", " · ");
}
