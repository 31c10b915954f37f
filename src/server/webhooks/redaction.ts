/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** Shorter ones may be words that stand there for themselves. */
const LEAST_LENGTH = 16;

export const REDACTED = "***";

/**
 * Secrets are sought as they are, in the text and in what it decodes to. Callers decide how many
 * secrets they send, and how long a text: an expression of all of them would take their product.
 *
 * @param secrets visible ASCII, found wherever they stand, percent-encoded too
 */
export function openRedaction(secrets: readonly string[]): Redact {
  const sought = secrets.filter(({ length }) => length >= LEAST_LENGTH);
  if (sought.length === 0) return (text) => text;
  const forms = sought.flatMap((secret) =>
    secret.includes("%") ? [secret, decode(secret, WHOLE).text] : [secret],
  );
  return (text) => {
    if (!text.includes("%") && !forms.some((form) => text.includes(form))) return text;
    const views = text.includes("%") ? [decode(text, ONCE), decode(text, WHOLE)] : [];
    const hidden = new Uint8Array(text.length);
    let isFound = false;
    for (const view of [{ text, startOf: (at: number) => at }, ...views])
      for (const form of forms) isFound = hideAll(view, form, hidden) || isFound;
    return isFound ? withoutHidden(text, hidden) : text;
  };
}

/** A text, and where each of its characters stands in the text that was sent. */
interface View {
  readonly text: string;
  readonly startOf: (at: number) => number;
}

const ONCE = /%([0-9a-f]{2})/gi;
/** Encoded once or again and again (`%2541`). */
const WHOLE = /%(?:25)*([0-9a-f]{2})/gi;

function decode(sent: string, encoded: RegExp): View {
  const starts: number[] = [];
  let text = "";
  let end = 0;
  const take = (until: number): void => {
    for (; end < until; end += 1) starts.push(end);
  };
  for (const { 0: whole, 1: digits = "", index } of sent.matchAll(encoded)) {
    text += sent.slice(end, index) + String.fromCharCode(Number.parseInt(digits, 16));
    take(index);
    starts.push(index);
    end = index + whole.length;
  }
  text += sent.slice(end);
  take(sent.length);
  return { text, startOf: (at) => starts[at] ?? sent.length };
}

/** @returns whether there was any */
function hideAll({ text, startOf }: View, secret: string, hidden: Uint8Array): boolean {
  const first = text.indexOf(secret);
  for (let at = first; at !== -1; at = text.indexOf(secret, at + secret.length))
    hidden.fill(1, startOf(at), startOf(at + secret.length));
  return first !== -1;
}

function withoutHidden(text: string, hidden: Uint8Array): string {
  let left = "";
  for (let at = 0; at < text.length;) {
    const start = hidden.indexOf(1, at);
    if (start === -1) return left + text.slice(at);
    left += text.slice(at, start) + REDACTED;
    const end = hidden.indexOf(0, start);
    at = end === -1 ? text.length : end;
  }
  return left;
}
