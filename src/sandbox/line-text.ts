import * as js from "../shared/intrinsics.ts";
import type { Job } from "../shared/wire/protocol.ts";
import { NO_TEXT, type FromThread, type ToThread } from "../shared/wire/thread-messages.ts";

/** The thread's half of what shared/wire/thread-messages.ts says. */

/** Values in the head for each run. */
const RUN_VALUES = 7;

/** @param text that the server has made */
export function decode(text: string): ToThread {
  const end = js.indexOf(text, "\n");
  const head = js.parse(js.slice(text, 0, end)) as readonly unknown[];
  const rest = js.slice(text, end + 1);
  if (head[0] === "run") return { type: "run", round: head[1] as number, jobs: toJobs(head, rest) };
  if (head[0] === "abort")
    return { type: "abort", id: head[1] as string, reason: head[2] as string };
  const answer = head[2]
    ? { ok: true as const, value: rest }
    : { ok: false as const, message: rest };
  return { type: "answer", number: head[1] as number, answer };
}

function toJobs(head: readonly unknown[], texts: string): Job[] {
  const jobs: Job[] = [];
  let from = 0;
  for (let at = 2; at < head.length; at += RUN_VALUES) {
    const input = from + (head[at + 1] as number);
    const body = input + (head[at + 2] as number);
    const length = head[at + 3] as number;
    js.push(jobs, {
      id: head[at] as string,
      execution: js.slice(texts, from, input),
      input_value: js.slice(texts, input, body),
      raw_body: length === NO_TEXT ? null : js.slice(texts, body, body + length),
      raw_body_at: head[at + 4] as number | null,
      base_url: head[at + 5] as string,
      target: head[at + 6] as string | null,
    });
    from = length === NO_TEXT ? body : body + length;
  }
  return jobs;
}

/** Value by value: a flow may have given every object a `toJSON`. */
export function encode(message: FromThread): string {
  if (message.type === "ended") return encodeEnded(message);
  if (message.type === "log") {
    const { at, level, text } = message.line;
    return `["log",${js.stringify(message.id)},${at},"${level}"]\n${text}`;
  }
  if (message.type === "stray") return `["stray",${js.stringify(message.id)}]\n${message.text}`;
  const { id, operation, name, value, wait } = message.request;
  const names = `${js.stringify(id)},"${operation}",${js.stringify(name)}`;
  return `["operation",${message.number},${names},${wait},${lengthOf(value)}]\n${value ?? ""}`;
}

function encodeEnded({ id, ending, ms, condition }: FromThread & { type: "ended" }): string {
  const { status, status_message, output_value, response } = ending;
  const said = status_message === null ? "null" : js.stringify(status_message);
  const head = `["ended",${js.stringify(id)},"${status}",${said},${ms},"${condition}"`;
  const lengths = `${lengthOf(output_value)},${lengthOf(response)}`;
  return `${head},${lengths}]\n${output_value ?? ""}${response ?? ""}`;
}

function lengthOf(text: string | null): number {
  return text === null ? NO_TEXT : text.length;
}
