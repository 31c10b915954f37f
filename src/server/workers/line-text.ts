import { isEnding, isLine, isRequest, isText, MAX_TEXT } from "../../shared/wire/protocol.ts";
import {
  CONDITIONS,
  NO_TEXT,
  type Condition,
  type FromThread,
  type ToThread,
} from "../../shared/wire/thread-messages.ts";

/** The server's half of what shared/wire/thread-messages.ts says. */

export function encode(message: ToThread): string {
  if (message.type === "abort") return toHead(["abort", message.id, message.reason]);
  if (message.type === "answer") {
    const { number, answer } = message;
    return toHead(["answer", number, answer.ok]) + (answer.ok ? answer.value : answer.message);
  }
  const head: unknown[] = ["run", message.round];
  let texts = "";
  for (const job of message.jobs) {
    const { id, execution, input_value, raw_body_at, raw_body, base_url, target } = job;
    head.push(id, execution.length, input_value.length, raw_body?.length ?? NO_TEXT);
    head.push(raw_body_at, base_url, target);
    texts += execution + input_value + (raw_body ?? "");
  }
  return toHead(head) + texts;
}

function toHead(values: readonly unknown[]): string {
  return `${JSON.stringify(values)}\n`;
}

/** What a thread has sent, whose flow may have taken it over; null: it is no message of a thread. */
export function decode(text: string): FromThread | null {
  const end = text.indexOf("\n");
  try {
    const head: unknown = JSON.parse(text.slice(0, Math.max(0, end)));
    return Array.isArray(head) ? toMessage(head, text.slice(end + 1)) : null;
  } catch {
    return null;
  }
}

function toMessage(head: readonly unknown[], texts: string): FromThread | null {
  if (head[0] === "ended") return toEnded(head, texts);
  if (head[0] === "log") return toLog(head, texts);
  if (head[0] === "stray") return toStray(head, texts);
  return head[0] === "operation" ? toOperation(head, texts) : null;
}

function toEnded(head: readonly unknown[], texts: string): FromThread | null {
  const [, id, status, status_message, ms, condition, output, response] = head;
  if (!isLength(output) || !isLength(response)) return null;
  const half = Math.max(0, output);
  if (half + Math.max(0, response) !== texts.length) return null;
  const ending = {
    status,
    status_message,
    output_value: output === NO_TEXT ? null : texts.slice(0, half),
    response: response === NO_TEXT ? null : texts.slice(half),
  };
  const isTimed = typeof ms === "number" && Number.isFinite(ms) && ms >= 0;
  return typeof id === "string" && isTimed && isCondition(condition) && isEnding(ending)
    ? { type: "ended", id, ending, ms, condition }
    : null;
}

function isCondition(value: unknown): value is Condition {
  return CONDITIONS.some((known) => known === value);
}

function toLog([, id, at, level]: readonly unknown[], text: string): FromThread | null {
  const line = { at, level, text };
  return typeof id === "string" && isLine(line) ? { type: "log", id, line } : null;
}

function toStray([, id]: readonly unknown[], text: string): FromThread | null {
  return typeof id === "string" && isText(text, MAX_TEXT) ? { type: "stray", id, text } : null;
}

function toOperation(head: readonly unknown[], text: string): FromThread | null {
  const [, number, id, operation, name, wait, length] = head;
  if (!isLength(number) || !isLength(length) || Math.max(0, length) !== text.length) return null;
  const request = { id, operation, name, value: length === NO_TEXT ? null : text, wait };
  return isRequest(request) ? { type: "operation", number, request } : null;
}

function isLength(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= NO_TEXT;
}
