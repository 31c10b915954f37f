import type { Child } from "hono/jsx/dom";
import { splitUnseen } from "../shared/unseen.ts";

/**
 * A text from outside. It turns around nothing that stands beside it, and what nobody would see in
 * it is marked.
 */
export function Said({ text }: { text: string }) {
  return <bdi>{marked(text)}</bdi>;
}

/**
 * A text in which what nobody would see is marked by its code, by the stylesheet: what is selected
 * and copied is the text as it is.
 */
export function marked(text: string): Child {
  return splitUnseen(text).map((piece) =>
    piece.isUnseen ? (
      <span class="unseen" data-code={codeOf(piece.text)}>
        {piece.text}
      </span>
    ) : (
      piece.text
    ),
  );
}

/** As Unicode writes it: `U+202E`. */
function codeOf(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
}
