import { useEffect } from "hono/jsx/dom";
import { marked } from "./said.tsx";

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

/** Source with line numbers; the line of an error is marked, and shown first. */
export function SourceView({ source, errorLine }: { source: string; errorLine: number | null }) {
  useEffect(() => {
    if (errorLine !== null)
      document.querySelector("#error-line")?.scrollIntoView({ block: "center" });
  }, [errorLine]);
  return <Lines of={numbered(source)} errorLine={errorLine} />;
}

/** Lines of an excerpt before and after the one of the error. */
const AROUND = 2;

/** The line of an error, and those around it. */
export function SourceExcerpt({ source, errorLine }: { source: string; errorLine: number }) {
  const lines = numbered(source).filter(({ number }) => Math.abs(number - errorLine) <= AROUND);
  return <Lines of={lines} errorLine={errorLine} />;
}

interface Line {
  readonly number: number;
  readonly tokens: readonly Token[];
}

function numbered(source: string): Line[] {
  return toLines(source).map((tokens, at) => ({ number: at + 1, tokens }));
}

function Lines({ of, errorLine }: { of: readonly Line[]; errorLine: number | null }) {
  const here = (number: number) => (number === errorLine ? " here" : "");
  return (
    <pre class="source" tabindex={0}>
      <code class="numbers" aria-hidden="true">
        {of.map(({ number }) => (
          <span class={`at${here(number)}`}>{number}</span>
        ))}
      </code>
      <code class="text">
        {of.map(({ number, tokens }) => (
          <span
            class={`line-of-code${here(number)}`}
            id={here(number) === "" ? undefined : "error-line"}
          >
            {tokens.map(({ kind, text }) =>
              kind === null ? marked(text) : <i class={kind}>{marked(text)}</i>,
            )}
            {"\n"}
          </span>
        ))}
      </code>
    </pre>
  );
}

interface Token {
  readonly kind: string | null;
  readonly text: string;
}

function toLines(source: string): Token[][] {
  const lines: Token[][] = [[]];
  for (const { kind, text } of tokensOf(source)) {
    for (const [at, part] of text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    }
  }
  return lines;
}

function* tokensOf(source: string): Generator<Token> {
  let end = 0;
  for (const match of source.matchAll(TOKENS)) {
    if (match.index > end) yield { kind: null, text: source.slice(end, match.index) };
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined);
    yield { kind: kind?.[0] ?? null, text: match[0] };
    end = match.index + match[0].length;
  }
  yield { kind: null, text: source.slice(end) };
}
