import { styleText } from "node:util";
import { toIso } from "../shared/clock.ts";
import type { LogEntry } from "../shared/log.ts";
import type { LogLine } from "../shared/wire/protocol.ts";
import type { ActiveExecution } from "../server/executions/active.ts";
import { PACKAGES_CHANGED } from "../server/flows/packages.ts";
import { PRINTED } from "../server/workers/printed.ts";
import { STRAY } from "../server/workers/stray-log.ts";
import type { Onlooker } from "../server/executions/onlooker.ts";
import type { Outcome } from "../server/executions/outcome.ts";
import { findExcerpt } from "./excerpt.ts";
import { toLine } from "./table.ts";

/** What `flowhook dev` shows: a line for each call, reload and refusal, and what belongs to it below. */
export interface DevScreen extends Onlooker {
  /** An entry of the service's log. */
  take(entry: LogEntry): void;
}

type Style = Parameters<typeof styleText>[0];

const STYLES: Readonly<Record<string, Style>> = {
  error: "red",
  fatal: "red",
  warn: "yellow",
  debug: "dim",
};

/** Where lines below another begin. */
const INDENT = " ".repeat(10);

/** @param plugins_dir where sources are read for excerpts */
export function openDevScreen(
  plugins_dir: string,
  write: (text: string) => void,
  now: () => number,
): DevScreen {
  const logs = new Map<string, LogLine[]>();
  const say = (text: string): void => write(`${paint("dim", toClock(now()))}  ${text}\n`);
  const below = (text: string): void => write(`${indent(text)}\n`);
  const explain = (text: string, folder: string): void => {
    const excerpt = findExcerpt(folder, text);
    if (excerpt !== null) below(paint("dim", excerpt));
  };
  /** Those whose ending was shown: what was cut short runs on until its grace is over. */
  const ended = new WeakSet<ActiveExecution>();
  const list = (lines: readonly LogLine[]): void => {
    for (const { level, text } of lines) below(describeLine(level, text));
  };
  return {
    logged(execution, lines) {
      const known = logs.get(execution.id);
      if (ended.has(execution)) {
        say(describeLate(execution));
        list(lines);
      } else if (known === undefined) logs.set(execution.id, [...lines]);
      else known.push(...lines);
    },
    ended(execution, outcome) {
      const lines = logs.get(execution.id) ?? [];
      logs.delete(execution.id);
      ended.add(execution);
      say(describeEnding(execution, outcome, now()));
      list(lines);
      for (const text of outcome.warnings) below(describeLine("warn", text));
      if (outcome.status === "ENDED_SUCCESS") return;
      const texts = [...lines.map(({ text }) => text), outcome.status_message ?? ""];
      // The version that ran has the line, whatever was edited since.
      explain(texts.join("\n"), execution.spec?.directory ?? plugins_dir);
    },
    take(entry) {
      const text = describeEntry(entry);
      if (text === null) return;
      say(text);
      if (entry.level === "error") explain(`${entry.msg}\n${entry.stack ?? ""}`, plugins_dir);
    },
  };
}

function describeEnding({ id, row, givenAt }: ActiveExecution, outcome: Outcome, at: number) {
  const { status, status_message: message, response } = outcome;
  const isRight = status === "ENDED_SUCCESS";
  const words = message === null ? status : `${status}: ${toLine(message)}`;
  const parts = [
    paint("bold", toLine(describeStart(row))),
    paint(isRight ? "green" : "red", words),
    givenAt === null ? "" : `${at - givenAt} ms`,
    isRight && response !== null ? `response ${response.status}` : "",
    paint("dim", id),
  ];
  return parts.filter((part) => part !== "").join("  ");
}

function describeLate({ id, row }: ActiveExecution): string {
  return `${paint("bold", toLine(describeStart(row)))}  logged after its end  ${paint("dim", id)}`;
}

/** The webhook that was called, or the flow and what started it. */
function describeStart({ webhook, flow, replay_of, parent_id }: ActiveExecution["row"]): string {
  if (replay_of !== null) return `${flow} (replay of ${replay_of})`;
  if (parent_id !== null) return `${flow} (started by ${parent_id})`;
  return webhook ?? `${flow} (flow run)`;
}

function describeLine(level: string, text: string): string {
  const plain = text.split("\n").map(toLine).join("\n      ");
  const line = `${level.padEnd(5)} ${plain}`;
  const style = STYLES[level];
  return style === undefined ? line : paint(style, line);
}

/** One line on an entry; null: others say it, or it is of no interest to an author. */
function describeEntry(entry: LogEntry): string | null {
  const { level, msg, flow = "", duration_ms: took } = entry;
  const name = paint("bold", toLine(entry.webhook ?? flow));
  if (msg === "Flow is ready")
    return `${name}  ready${took === undefined ? "" : `, ${took} ms after its change`}`;
  if (msg === PACKAGES_CHANGED) return msg;
  if (msg === "Flow is gone") return `${name}  gone`;
  if (msg.startsWith("Flow is broken")) return `${name}  ${paint("red", toLine(msg))}`;
  if (msg === "Call refused") return `${name}  ${paint("yellow", describeRefusal(entry))}`;
  if (msg === PRINTED) return describePrinted(entry);
  if (msg === STRAY) return `${name}  ${paint("yellow", describeStray(entry))}`;
  if (msg.startsWith("Execution ") || !(level in STYLES) || level === "debug") return null;
  return paint(STYLES[level] as Style, toLine(`${level}  ${msg}`));
}

/** What Node prints of its own debugger, which dev has told of itself. */
const DEBUGGER =
  /^(?:Debugger (?:listening|ending) on |Debugger attached|For help, see: |Waiting for the debugger )/;

function describePrinted({ level, msg, text = "" }: LogEntry): string | null {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !DEBUGGER.test(line));
  if (lines.length === 0) return null;
  return paint(STYLES[level] ?? "dim", toLine(`${level}  ${msg}: ${lines.join(" ")}`));
}

function describeStray({ msg, error = "", place }: LogEntry): string {
  return toLine(`${msg}: ${error}${place ? ` (${place})` : ""}`);
}

function describeRefusal({ code = "", reason = "" }: LogEntry): string {
  return toLine(`refused, ${code}: ${reason}`);
}

/** The time of day in UTC, as the log of executions has it. */
function toClock(at: number): string {
  return toIso(at).slice(11, 19);
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => INDENT + line)
    .join("\n");
}

function paint(style: Style, text: string): string {
  return styleText(style, text);
}
