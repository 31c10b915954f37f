import { existsSync, readFileSync } from "node:fs";
import { parseWhole } from "../shared/json-whole.ts";
import { CommandError } from "./command-error.ts";
import { readStandardInput, toText } from "./standard-input.ts";

/**
 * The text of a file; `-` is standard input.
 *
 * @param advice what is given in the place of bytes that are no text
 * @throws CommandError
 */
export async function readText(file: string, advice?: string): Promise<string> {
  const bytes = await readBytes(file);
  return toText(bytes, file === "-" ? "standard input" : `"${file}"`, advice);
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return file === "-" ? await readStandardInput() : readFileSync(file);
  } catch (error) {
    throw new CommandError(`Cannot read "${file}": ${(error as Error).message}`);
  }
}

/** As editors and shells of Windows write it before JSON and YAML. */
export function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/** @throws CommandError where it cannot be read, or is not JSON */
export async function readJson(file: string): Promise<unknown> {
  return parse(withoutMark(await readText(file)), `"${file}"`);
}

/** What JSON begins with, and hardly a file's name does. */
const JSON_BEGIN = /^\s*(?:[{["]|-?\d|(?:true|false|null)\s*$)/;

/**
 * JSON as text, or in a file; `-` is standard input.
 *
 * @throws CommandError where it cannot be read, or is not JSON
 */
export async function readJsonOr(given: string): Promise<unknown> {
  return JSON_BEGIN.test(given) && !existsSync(given) ? parse(given, "--input") : readJson(given);
}

function parse(text: string, where: string): unknown {
  try {
    return parseWhole(text);
  } catch (error) {
    throw new CommandError(`Expected JSON in ${where}: ${(error as Error).message}`);
  }
}

/** A whole number of at least 1, for commander. */
export function toCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw new CommandError(`Found "${text}", expected a whole number of at least 1`, 2);
}

/** One more of an option that may be given again, for commander. */
export function toList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** A port to listen on, for commander; 0 for any free one. */
export function toPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new CommandError(`Found "${text}", expected a port: a whole number from 0 to 65535`, 2);
}

/** A regular expression as node:test takes it, `/with flags/i` too, for commander. */
export function toPattern(text: string): string {
  const [, pattern = text, flags = ""] = /^\/(.*)\/([a-z]*)$/.exec(text) ?? [];
  try {
    RegExp(pattern, flags);
    return text;
  } catch (error) {
    const { message } = error as Error;
    throw new CommandError(`Found "${text}", expected a regular expression: ${message}`, 2);
  }
}
