/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { findPage, listPages, type ManualPage } from "../../../assets/manual.ts";
import { VERSION } from "../../../assets/read.ts";
import { search, toWords, type Found } from "../../../assets/sections.ts";
import { raw } from "hono/html";
import type { Rendered } from "../markdown.ts";
import { Shell, type Visit } from "../shell.tsx";
import { MissingPage } from "./missing.tsx";

/** The list of the pages of the documentation, or what a search finds in them. */
export function DocsPage({ visit }: { visit: Visit }) {
  const query = (visit.query["q"] ?? "").trim();
  return (
    <Shell visit={visit} title="Documentation" module="document">
      <div class="head">
        <h1>Documentation</h1>
        <span class="soft">of version {VERSION}</span>
      </div>
      <SearchForm visit={visit} query={query} />
      {query === "" ? <Contents visit={visit} /> : <Results visit={visit} query={query} />}
    </Shell>
  );
}

/** One page of the documentation. */
export async function DocPage({ visit }: { visit: Visit }) {
  const page = findPage(visit.params["topic"] ?? "");
  if (page === undefined) return MissingPage({ visit });
  const { html, headings } = await render(page, pathOf(visit));
  return (
    <Shell visit={visit} title={page.title} module="document">
      <p class="way">
        <a href={pathOf(visit)}>Documentation</a>
      </p>
      <SearchForm visit={visit} query="" />
      <OnThisPage headings={headings} />
      <article class="manual">{raw(html)}</article>
      <Neighbours visit={visit} page={page} />
    </Shell>
  );
}

/** Pages do not change while the service runs. */
const rendered = new Map<string, Rendered>();

async function render(page: ManualPage, docs: string): Promise<Rendered> {
  const known = rendered.get(page.name);
  if (known !== undefined) return known;
  // Its grammar takes a start of the service 15 ms.
  const { renderMarkdown } = await import("../markdown.ts");
  const found = renderMarkdown(page.text, docs);
  rendered.set(page.name, found);
  return found;
}

function SearchForm({ visit, query }: { visit: Visit; query: string }) {
  return (
    <form class="docs-search" role="search" method="get" action={pathOf(visit)}>
      <label class="hidden-text" for="docs-query">
        Search the documentation
      </label>
      <input
        type="search"
        id="docs-query"
        name="q"
        value={query}
        placeholder="Search the documentation"
        autocomplete="off"
        maxlength={200}
      />
      <button type="submit" class="quiet">
        Search
      </button>
    </form>
  );
}

function Contents({ visit }: { visit: Visit }) {
  return (
    <dl class="docs-list">
      {listPages().map((page) => (
        <>
          <dt>
            <a href={pathOf(visit, page)}>{page.title}</a>
          </dt>
          <dd class="soft">{page.summary}</dd>
        </>
      ))}
    </dl>
  );
}

function Results({ visit, query }: { visit: Visit; query: string }) {
  const found = search(listPages(), query);
  if (found.length === 0)
    return (
      <p class="empty">
        No page has all of “{query}”. <a href={pathOf(visit)}>Show all pages</a>.
      </p>
    );
  const words = toWords(query);
  return (
    <dl class="docs-list">
      {found.map((section) => (
        <>
          <dt>
            <a href={`${pathOf(visit, section.page)}#${section.anchor}`}>{titleOf(section)}</a>
          </dt>
          <dd class="soft">{highlight(section.excerpt, words)}</dd>
        </>
      ))}
    </dl>
  );
}

function titleOf({ page, level, title }: Found): string {
  return level === 1 ? title : `${page.title}: ${title}`;
}

/** The text in pieces, with the words that were searched for in `mark`. */
function highlight(text: string, words: readonly string[]) {
  const pattern = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|");
  return text
    .split(new RegExp(`(${pattern})`, "gi"))
    .map((piece, at) => (at % 2 === 1 ? <mark>{piece}</mark> : piece));
}

function OnThisPage({ headings }: Pick<Rendered, "headings">) {
  const shown = headings.filter(({ level }) => level === 2);
  if (shown.length < 3) return null;
  return (
    <details class="docs-contents">
      <summary>On this page</summary>
      <ul>
        {shown.map(({ anchor, title }) => (
          <li>
            <a href={`#${anchor}`}>{title}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Neighbours({ visit, page }: { visit: Visit; page: ManualPage }) {
  const pages = listPages();
  const at = pages.indexOf(page);
  const [before, after] = [pages[at - 1], pages[at + 1]];
  return (
    <nav class="docs-neighbours" aria-label="Neighbouring pages">
      {before === undefined ? <span></span> : <a href={pathOf(visit, before)}>← {before.title}</a>}
      {after === undefined ? null : <a href={pathOf(visit, after)}>{after.title} →</a>}
    </nav>
  );
}

function pathOf(visit: Visit, page?: ManualPage): string {
  const docs = `${visit.prefix}/ui/docs`;
  return page === undefined ? docs : `${docs}/${page.name}`;
}
