/**
 * The pairs of `application/x-www-form-urlencoded` (WHATWG URL, section 5.1). URLSearchParams gives
 * the same, but its time grows with the square of the number of pairs.
 */
export function* readForm(text: string): Generator<[name: string, value: string]> {
  for (let start = 0; start <= text.length;) {
    const found = text.indexOf("&", start);
    const end = found < 0 ? text.length : found;
    if (end > start) yield readPair(text.slice(start, end));
    start = end + 1;
  }
}

function readPair(pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (/[%+]/.test(pair)) {
    // Without the ampersand a question mark at the start would be left out.
    const [decoded = ["", ""]] = new URLSearchParams(`&${pair}`);
    return decoded;
  }
  return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
}
