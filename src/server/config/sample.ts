import * as v from "valibot";
import { CONFIG_KEYS, CONFIG_SCHEMA, describeConfig } from "./schema.ts";

/** Longest line of a comment, in characters. */
const WIDTH = 96;

/** A configuration file with every key as a comment: its meaning, its type and its default. */
export function sampleConfig(): string {
  const head = wrap(
    "The configuration of Flowhook. Every key has a default, shown here: take away the `#` before " +
      "a key to change it. FLOWHOOK_<KEY> in the environment overrides a key, FLOWHOOK_<KEY>_FILE " +
      "reads it from a file. Relative paths start at the folder of this file.",
  );
  const keys = describeConfig().map((row, index) => {
    const value = toYaml(v.getDefault(CONFIG_SCHEMA.entries[CONFIG_KEYS[index]!]));
    const words = isSame(value, row.default) ? "" : ` By default: ${row.default}.`;
    return `${wrap(`${row.meaning} Value: ${row.type}.${words}`)}#${row.key}: ${value}\n`;
  });
  return [head, ...keys].join("\n");
}

/** Whether the words about a default say no more than the value does. */
function isSame(value: string, words: string): boolean {
  return value.replaceAll('"', "") === words.replaceAll("`", "");
}

/** JSON is YAML; a text that YAML reads as itself needs no quotes. */
function toYaml(value: unknown): string {
  return typeof value === "string" && /^[a-z./][\w./]*$/.test(value)
    ? value
    : JSON.stringify(value);
}

function wrap(text: string): string {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1) as string;
    if (line.length + word.length + 3 > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.map((line) => `# ${line}\n`).join("");
}
