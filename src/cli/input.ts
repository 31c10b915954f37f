import { readFileSync } from "node:fs";
import { CommandFailure } from "./failure.ts";

/**
 * The text of a file; `-` is standard input.
 *
 * @throws CommandFailure
 */
export function readText(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (fault) {
    throw new CommandFailure(`Cannot read "${file}": ${(fault as Error).message}`);
  }
}

/** @throws CommandFailure where it cannot be read, or is not JSON */
export function readJson(file: string): unknown {
  const text = readText(file);
  try {
    return JSON.parse(text);
  } catch (fault) {
    throw new CommandFailure(`Expected JSON in "${file}": ${(fault as Error).message}`);
  }
}

/** A whole number of at least 1, for commander. */
export function toCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw new CommandFailure(`Found "${text}", expected a whole number of at least 1`, 2);
}
