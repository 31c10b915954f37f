import type { Child } from "hono/jsx/dom";
import { splitUnseen } from "../shared/unseen.ts";

/** Marks in one text: each is an element, and a caller may send any number of them. */
const MARKS = 500;

/**
 * A text from outside. It turns around nothing that stands beside it, and what nobody would see in
 * it is marked. Code reads from left to right; words as their first letter does.
 */
export function Said({ text, isCode = false }: { text: string; isCode?: boolean }) {
  return <bdi dir={isCode ? "ltr" : "auto"}>{marked(text)}</bdi>;
}

/**
 * A text in which what nobody would see is marked by its code, by the stylesheet: what is selected
 * and copied is the text as it is.
 */
export function marked(text: string): Child {
  return splitUnseen(text, MARKS).map((piece) =>
    piece.isUnseen ? (
      <span
        class="unseen"
        data-code={piece.isRest ? "more, not marked from here on" : codeOf(piece.text)}
      >
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}

/** As Unicode writes it, and how often: `U+202E`, `U+200B ×3`. */
function codeOf(run: string): string {
  const point = run.codePointAt(0) ?? 0;
  const count = run.length / String.fromCodePoint(point).length;
  const code = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  return count === 1 ? code : `${code} ×${count}`;
}
