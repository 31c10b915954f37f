import { Marked, type Tokens } from "marked";
import { openAnchors } from "../../assets/sections.ts";

interface Heading {
  readonly level: number;
  readonly title: string;
  readonly anchor: string;
}

export interface Rendered {
  readonly html: string;
  /** In the order of the page. */
  readonly headings: readonly Heading[];
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * A page of the documentation as HTML. The text is ours, and nothing in it is trusted all the same:
 * HTML in it is shown as text, pictures by their words, and links lead to pages and to the web.
 *
 * @param docs path of the pages, without a slash at its end
 */
export function renderMarkdown(text: string, docs: string): Rendered {
  const anchorOf = openAnchors();
  const headings: Heading[] = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      html: ({ text: html }) => escape(html),
      image: ({ text: words }) => escape(words),
      link({ href, tokens }) {
        return toLink(href, docs, this.parser.parseInline(tokens));
      },
      heading({ depth, tokens, text: words }) {
        const title = words.replace(/[*`]/g, "");
        const anchor = anchorOf(title);
        headings.push({ level: depth, title, anchor });
        return `<h${depth} id="${escape(anchor)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      code: ({ text: code }) => `<pre tabindex="0"><code>${escape(code)}</code></pre>\n`,
      // Wide tables scroll by themselves, with the keyboard too.
      table(token) {
        const rows = token.rows.map((cells) => toRow(cells, (cell) => this.tablecell(cell)));
        const head = toRow(token.header, (cell) => this.tablecell(cell));
        return toTable(head, rows);
      },
    },
  });
  return { html: marked.parse(text, { async: false }), headings };
}

export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign]!);
}

/** Between pages as `./flows.md#limits`, so that the same link works beside the sources. */
function toLink(href: string, docs: string, words: string): string {
  const [, page, anchor = ""] = /^\.\/([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
  if (page !== undefined) return `<a href="${escape(`${docs}/${page}${anchor}`)}">${words}</a>`;
  if (href.startsWith("#")) return `<a href="${escape(href)}">${words}</a>`;
  if (!/^https?:\/\//.test(href)) return words;
  return `<a href="${escape(href)}" rel="noreferrer">${words}</a>`;
}

function toRow(cells: Tokens.TableCell[], show: (cell: Tokens.TableCell) => string): string {
  return `<tr>${cells.map(show).join("")}</tr>`;
}

function toTable(head: string, rows: readonly string[]): string {
  return (
    `<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>` +
    `<thead>${head}</thead><tbody>${rows.join("\n")}</tbody></table></div>\n`
  );
}
