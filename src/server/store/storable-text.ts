/** A text as every store can have it: PostgreSQL's texts hold no U+0000, which becomes U+FFFD. */
export function toStorable(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\u{fffd}") : text;
}
