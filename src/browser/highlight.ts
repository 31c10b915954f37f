import { el } from "./element.ts";

const KEYWORDS =
  "abstract|as|async|await|break|case|catch|class|const|continue|declare|default|delete|do|else|" +
  "export|extends|false|finally|for|from|function|if|implements|import|in|infer|instanceof|" +
  "interface|is|keyof|let|namespace|new|null|of|private|protected|public|readonly|return|" +
  "satisfies|static|super|switch|this|throw|true|try|type|typeof|undefined|unique|using|var|" +
  "void|while|with|yield";

/** Enough of the grammar to tell comments, texts, words and numbers apart. */
const TOKENS = new RegExp(
  [
    "(?<comment>//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$))",
    "(?<string>\"(?:\\\\.|[^\"\\\\\\n])*\"?|'(?:\\\\.|[^'\\\\\\n])*'?|`(?:\\\\.|[^`\\\\])*`?)",
    `(?<keyword>(?<![\\w$.])(?:${KEYWORDS})(?![\\w$]))`,
    "(?<number>(?<![\\w$])\\d[\\w.]*)",
  ].join("|"),
  "g",
);

/** Source with line numbers; the line of an error is marked. */
export function sourceView(source: string, errorLine: number | null): HTMLElement {
  const numbers = el("code", { class: "numbers", "aria-hidden": "true" });
  const text = el("code", { class: "text" });
  const lines = toLines(source);
  for (const [at, pieces] of lines.entries()) {
    const here = at + 1 === errorLine ? " here" : "";
    numbers.append(el("span", { class: `at${here}` }, String(at + 1)));
    const line = el("span", { class: `line-of-code${here}` }, ...pieces, "\n");
    if (here !== "") line.id = "error-line";
    text.append(line);
  }
  return el("pre", { class: "source", tabindex: 0 }, numbers, text);
}

function toLines(source: string): (HTMLElement | string)[][] {
  const lines: (HTMLElement | string)[][] = [[]];
  for (const { kind, text } of tokensOf(source)) {
    for (const [at, part] of text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push(kind === null ? part : el("i", { class: kind }, part));
    }
  }
  return lines;
}

function* tokensOf(source: string): Generator<{ kind: string | null; text: string }> {
  let end = 0;
  for (const match of source.matchAll(TOKENS)) {
    if (match.index > end) yield { kind: null, text: source.slice(end, match.index) };
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined);
    yield { kind: kind?.[0] ?? null, text: match[0] };
    end = match.index + match[0].length;
  }
  yield { kind: null, text: source.slice(end) };
}
