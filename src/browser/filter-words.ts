/** What a search field holds: words to look for, and filters such as `webhook:orders`. */
export interface FilterWords {
  readonly text: string;
  readonly named: Readonly<Record<string, string>>;
}

/**
 * Blanks and quotes in a value need quotes, and a quote in those is doubled: `webhook:"new orders"`.
 * Words before other colons are text.
 */
const NAMED = /(?<=^|\s)([a-z]+):(?:"((?:[^"]|"")*)"|([^\s"]+))(?=\s|$)/gi;

/** @param names the filters that there are */
export function readFilterWords(typed: string, names: readonly string[]): FilterWords {
  const named: Record<string, string> = {};
  const text = typed.replace(NAMED, (whole, word: string, quoted?: string, plain?: string) => {
    const name = word.toLowerCase();
    if (!names.includes(name)) return whole;
    named[name] = quoted?.replaceAll('""', '"') ?? plain ?? "";
    return "";
  });
  return { text: text.trim().replace(/\s+/g, " "), named };
}

/** The first of the words that look like a filter and are none: `state` of `state:failed`. */
export function unknownFilterWord(text: string, names: readonly string[]): string | null {
  const found = [...text.matchAll(NAMED)].map(([, name = ""]) => name);
  return found.find((name) => !names.includes(name)) ?? null;
}

export function toFilterWord(name: string, value: string): string {
  return /[\s"]/.test(value) ? `${name}:"${value.replaceAll('"', '""')}"` : `${name}:${value}`;
}
