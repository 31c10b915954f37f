/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** Shorter ones may be words that stand there for themselves. */
const LEAST_LENGTH = 16;

const REDACTED = "***";

/** @param secrets visible ASCII, found wherever they stand, percent-encoded too */
export function openRedaction(secrets: readonly string[]): Redact {
  const sought = secrets.filter(({ length }) => length >= LEAST_LENGTH);
  if (sought.length === 0) return (text) => text;
  // The longest first: it may begin with another.
  const sorted = sought.toSorted((a, b) => b.length - a.length);
  let pattern: RegExp | undefined;
  return (text) => {
    if (!text.includes("%") && !sorted.some((secret) => text.includes(secret))) return text;
    pattern ??= new RegExp(sorted.map(toPattern).join("|"), "g");
    return text.replace(pattern, REDACTED);
  };
}

/** Each character as it is or percent-encoded, once or again and again (`%2541`). */
function toPattern(secret: string): string {
  return [...secret].map(toEither).join("");
}

function toEither(character: string): string {
  const hex = character.charCodeAt(0).toString(16).padStart(2, "0");
  const digits = hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
  return `(?:\\x${hex}|%(?:25)*${digits})`;
}
