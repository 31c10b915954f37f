/** Deepest nesting of lists and objects in a body (contract, section 4, number 3). */
export const MAX_DEPTH = 200;

/** `line 2, column 7` of an offset in a text, both counted from 1. */
export function describePosition(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}
