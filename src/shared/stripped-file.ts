import { createHash } from "node:crypto";

/** The TypeScript files of a version without their types, in one file beside its folder. */

/** Texts by their path in the folder, with `/`. */
export type StrippedTexts = Readonly<Record<string, string>>;

/** @param directory of the version */
export function strippedPath(directory: string): string {
  return `${directory}.stripped`;
}

export function encodeStripped(texts: StrippedTexts): string {
  const body = JSON.stringify(texts);
  return `${digestOf(body)}\n${body}`;
}

/** Null where it is not as it was written. */
export function decodeStripped(text: string): StrippedTexts | null {
  const end = text.indexOf("\n");
  const body = text.slice(end + 1);
  if (end < 0 || digestOf(body) !== text.slice(0, end)) return null;
  return JSON.parse(body) as StrippedTexts;
}

function digestOf(body: string): string {
  return createHash("sha256").update(body).digest("hex");
}
