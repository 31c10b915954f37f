/** Rows as COPY writes and reads them: the text format (PostgreSQL, COPY, "File Formats"). */

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  // No text of PostgreSQL holds it; see connection.ts.
  "\0": "\u{fffd}",
};

/** Each character as PostgreSQL escapes it too, so that both sides' lines can be compared. */
const ESCAPED = /[\\\b\f\n\r\t\v\0]/g;

/** @param areBytes for each value, whether its column holds bytes */
export function toLine(row: readonly unknown[], areBytes: readonly boolean[]): string {
  const fields = row.map((value, at) => toField(value, areBytes[at] === true));
  return `${fields.join("\t")}\n`;
}

function toField(value: unknown, isBytes: boolean): string {
  if (value === null) return "\\N";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string") throw new TypeError(`Cannot copy a value of type ${typeof value}`);
  if (isBytes) return `\\\\x${Buffer.from(value).toString("hex")}`;
  return value.replace(ESCAPED, (character) => ESCAPES[character] as string);
}
