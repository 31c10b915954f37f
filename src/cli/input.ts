import { readFileSync } from "node:fs";
import { CommandError } from "./command-error.ts";

/**
 * The text of a file; `-` is standard input.
 *
 * @throws CommandError
 */
export function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    throw new CommandError(`Cannot read "${file}": ${(error as Error).message}`);
  }
}

/** @throws CommandError where it cannot be read, or is not JSON */
export function readJson(file: string): unknown {
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`Expected JSON in "${file}": ${(error as Error).message}`);
  }
}

/** A whole number of at least 1, for commander. */
export function toCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw new CommandError(`Found "${text}", expected a whole number of at least 1`, 2);
}
