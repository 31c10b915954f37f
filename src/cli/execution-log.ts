import type { LogLine } from "../shared/contract/execution.ts";
import { toPath, type Client } from "./client.ts";
import { toLine } from "./table.ts";

/** The log lines of an execution, oldest first. */
export function readLog(client: Client, id: string): Promise<LogLine[]> {
  return client.list<LogLine>(`${toPath("execution", id)}/log`);
}

/** One line each for people. */
export function printLog(lines: readonly LogLine[], output: NodeJS.WritableStream): void {
  for (const { at, level, text } of lines)
    output.write(`${at} ${level.padEnd(5)} ${text.split("\n").map(toLine).join("\n  ")}\n`);
}
