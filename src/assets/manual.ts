import { listAssets, readAsset } from "./read.ts";
import { nearestWord } from "../shared/nearest.ts";

/** The documentation that the program carries: one Markdown page for each topic. */
export interface ManualPage {
  /** The file's name without `.md`; what `flowhook docs` and `/ui/docs` call the page. */
  readonly name: string;
  readonly title: string;
  /** One line. */
  readonly summary: string;
  /** Markdown, without the comments that bound its generated parts. */
  readonly text: string;
}

/** In the order in which they are read. A page that is not named here is listed after these. */
const ORDER: readonly string[] = [
  "flows",
  "webhooks",
  "recipes",
  "user-interface",
  "command-line",
  "configuration",
  "install",
  "proxies",
  "operating",
  "nodes",
  "backup",
  "security",
  "errors",
  "api",
  "architecture",
  "performance",
  "specification",
  "contract",
];

let kept: readonly ManualPage[] | undefined;

/** All pages, in the order in which they are read. */
export function listPages(): readonly ManualPage[] {
  kept ??= listAssets("docs/")
    .map((asset) => toPage(asset.replace(/^docs\/|\.md$/g, ""), readText(asset)))
    .toSorted((a, b) => placeOf(a) - placeOf(b));
  return kept;
}

/** A page by its name, whatever its case, with or without `.md`. */
export function findPage(name: string): ManualPage | undefined {
  const wanted = name.toLowerCase().replace(/\.md$/, "");
  return listPages().find((page) => page.name === wanted);
}

/** The name that a misspelt one was meant to be; null where none is near. */
export function nearestPage(name: string): string | null {
  return nearestWord(
    name,
    listPages().map((page) => page.name),
  );
}

/** A page starts with its title, and a paragraph of one line that says what it is about. */
function toPage(name: string, markdown: string): ManualPage {
  const text = markdown.replace(/^<!--.*-->\n/gm, "");
  const [title = "", summary = ""] = text.split("\n\n", 2);
  return { name, title: title.replace(/^# /, ""), summary, text };
}

function readText(asset: string): string {
  return Buffer.from(readAsset(asset)).toString();
}

function placeOf({ name }: ManualPage): number {
  const place = ORDER.indexOf(name);
  return place < 0 ? ORDER.length : place;
}
