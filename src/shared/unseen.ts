/** What moves the characters beside it, or is not seen: two texts would look like one. */
const DECEIVING = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]/u;
/** Of those what shapes the letters between which it stands, and what emoji are made with. */
const SHAPING = [
  /(?<=[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Gujr}\p{scx=Taml}])[\u200c\u200d](?=\p{L})/u,
  /(?<=[\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}])[\u200c\u200d](?=\p{L})/u,
  /(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/u,
  /(?<=\p{Extended_Pictographic})\ufe0f|\ufe0f(?=\u20e3)/u,
];
/** Lines and columns are seen by what they do. */
const CONTROL = /(?![\t\n\r])\p{Cc}/u;

const ANY = new RegExp(`${DECEIVING.source}|${CONTROL.source}`, "u");

/** What only shapes comes first, and is no group. */
const EACH = new RegExp(`${SHAPING.map(({ source }) => source).join("|")}|(${ANY.source})`, "gu");

interface Piece {
  readonly text: string;
  /** Whether nobody sees it: one character, as often as it follows itself. */
  readonly isUnseen: boolean;
  /** Whether it is what was not looked through any more. */
  readonly isRest?: true;
}

/**
 * A text in pieces: what is seen, and what is not.
 *
 * @param limit so many unseen pieces; what follows them is one piece, if more of it is not seen
 */
export function splitUnseen(text: string, limit = Infinity): readonly Piece[] {
  if (!ANY.test(text)) return [{ text, isUnseen: false }];
  const pieces: Piece[] = [];
  let end = 0;
  let count = 0;
  for (const { start, end: next } of runsOf(text)) {
    if (start > end) pieces.push({ text: text.slice(end, start), isUnseen: false });
    if (count === limit)
      return [...pieces, { text: text.slice(start), isUnseen: true, isRest: true }];
    pieces.push({ text: text.slice(start, next), isUnseen: true });
    count += 1;
    end = next;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isUnseen: false });
  return pieces;
}

/** Where the same unseen character stands, once or more, in the order of the text. */
function* runsOf(text: string): Generator<{ readonly start: number; readonly end: number }> {
  let run = { character: "", start: 0, end: 0 };
  for (const { index, 1: character } of text.matchAll(EACH)) {
    if (character === undefined) continue;
    const end = index + character.length;
    if (run.character === character && run.end === index) {
      run.end = end;
      continue;
    }
    if (run.character !== "") yield run;
    run = { character, start: index, end };
  }
  if (run.character !== "") yield run;
}

export function hasUnseen(text: string): boolean {
  return splitUnseen(text, 1).some(({ isUnseen }) => isUnseen);
}

/** JSON that means the same, and in whose texts everything is seen. */
export function escapeUnseen(json: string): string {
  return splitUnseen(json)
    .map(({ text, isUnseen }) => (isUnseen ? toEscape(text) : text))
    .join("");
}

function toEscape(text: string): string {
  return text
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
