import type { Principal } from "../access/login.ts";
import { toSummary } from "../executions/record.ts";
import { isEnded } from "../executions/status.ts";
import { now, toIso } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import { findExecution, listLog } from "../store/executions.ts";
import { findRole, findTokenById } from "../store/people.ts";
import { isVisible } from "./access.ts";
import type { Api } from "./api.ts";
import { requireExecution } from "./execution.ts";
import { defineRoute, type Answer } from "./route.ts";

/** Server-sent events (WHATWG HTML, section 9.2): executions as they change. */

/** How often a silent stream says that it lives, so that proxies keep it. */
const HEARTBEAT_MS = 15_000;

/** Events that wait for a slow reader; beyond it the stream ends, and the reader comes back. */
const MOST_WAITING = 1000;

interface EventStream {
  send(event: string, data: unknown, id?: string): void;
  close(): void;
}

/** Ends with the service, and once the login token of whoever listens is not valid any more. */
function openStream(
  api: Api,
  principal: Principal,
  start: (stream: EventStream) => () => void,
): Answer {
  const encoder = new TextEncoder();
  let stop = (): void => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const heartbeat = setInterval(() => {
          write(": \n\n");
          requireToken(api, principal).catch(close);
        }, HEARTBEAT_MS);
        let unsubscribe = (): void => {};
        let forget = (): void => {};
        let is_open = true;
        const close = (): void => {
          if (!is_open) return;
          stop();
          controller.close();
        };
        const write = (text: string): void => {
          if (!is_open) return;
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 0) < -MOST_WAITING) close();
        };
        stop = () => {
          is_open = false;
          clearInterval(heartbeat);
          unsubscribe();
          forget();
        };
        const send: EventStream["send"] = (event, data, id) => {
          const number = id === undefined ? "" : `id: ${id}\n`;
          write(`${number}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
        };
        write("retry: 2000\n\n");
        unsubscribe = start({ send, close });
        forget = api.executions.onStop(close);
      },
      cancel: () => stop(),
    },
    { highWaterMark: 0 },
  );
  return { status: 200, stream, headers: { "content-type": "text/event-stream; charset=utf-8" } };
}

async function requireToken({ store }: Api, { token_id }: Principal): Promise<void> {
  const token = await findTokenById(store, token_id);
  if (token === undefined || token.expires_at <= now())
    throw new Refusal("not_authenticated", "The login token is not valid any more");
}

export const getExecutionsEvents = defineRoute({
  method: "GET",
  path: "/execution/events",
  summary: "Follow executions as they change, as server-sent events",
  needs: "execution.read",
  type: "text/event-stream",
  async act(api, { principal }) {
    return openStream(api, principal, (stream) =>
      api.executions.changes.subscribe((id, change) => {
        if (change === "status") sendSummary(api, principal, stream, id).catch(stream.close);
      }),
    );
  },
});

async function sendSummary(
  api: Api,
  principal: Principal,
  stream: EventStream,
  id: string,
): Promise<void> {
  const row = await findExecution(api.store, id);
  if (row === undefined || !isVisible(principal, "execution.read", row.project_id)) return;
  const role = row.role_id === null ? undefined : await findRole(api.store, row.role_id);
  stream.send("execution", toSummary(row, role?.name ?? null));
}

export const getExecutionEvents = defineRoute({
  method: "GET",
  path: "/execution/:id/events",
  summary: "Follow one execution: its states and log lines; resumable by Last-Event-ID",
  needs: "execution.read",
  type: "text/event-stream",
  async act(api, { principal, params, last_event_id }) {
    const { id } = await requireExecution(api, principal, params["id"] ?? "");
    const after = Number(last_event_id ?? 0);
    return openStream(api, principal, (stream) =>
      followOne(api, stream, id, Number.isInteger(after) ? after : 0),
    );
  },
});

/** Sends what is new, one look at a time; the end of the execution ends the stream. */
function followOne(api: Api, stream: EventStream, id: string, start: number): () => void {
  let after = start;
  let status = "";
  let looking: Promise<void> | null = null;
  let is_due = false;

  async function look(): Promise<void> {
    const row = await findExecution(api.store, id);
    const lines = await listLog(api.store, id, { after, limit: 500 });
    for (const { seq, at, level, text } of lines) {
      after = seq;
      stream.send("log", { at: toIso(at), level, text }, String(seq));
    }
    if (lines.length === 500) is_due = true;
    if (row === undefined) return stream.close();
    if (row.status !== status) {
      const role = row.role_id === null ? undefined : await findRole(api.store, row.role_id);
      stream.send("status", toSummary(row, role?.name ?? null));
    }
    status = row.status;
    if (isEnded(status) && lines.length < 500) stream.close();
  }

  function due(): void {
    is_due = true;
    looking ??= (async () => {
      while (is_due) {
        is_due = false;
        await look();
      }
      looking = null;
    })().catch(stream.close);
  }

  const unsubscribe = api.executions.changes.subscribe((changed) => {
    if (changed === id) due();
  });
  due();
  return unsubscribe;
}
