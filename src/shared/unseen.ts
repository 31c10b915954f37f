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
  /** Whether it is a single character that nobody sees. */
  readonly isUnseen: boolean;
}

/** A text in pieces: what is seen, and each character that is not. */
export function splitUnseen(text: string): readonly Piece[] {
  if (!ANY.test(text)) return [{ text, isUnseen: false }];
  const pieces: Piece[] = [];
  let end = 0;
  for (const { index, 1: unseen } of text.matchAll(EACH)) {
    if (unseen === undefined) continue;
    if (index > end) pieces.push({ text: text.slice(end, index), isUnseen: false });
    pieces.push({ text: unseen, isUnseen: true });
    end = index + unseen.length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isUnseen: false });
  return pieces;
}

export function hasUnseen(text: string): boolean {
  return splitUnseen(text).some(({ isUnseen }) => isUnseen);
}

/** JSON that means the same, and in whose texts everything is seen. */
export function escapeUnseen(json: string): string {
  return splitUnseen(json)
    .map(({ text, isUnseen }) => (isUnseen ? toEscape(text) : text))
    .join("");
}

function toEscape(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
