import { isEnded } from "../../shared/contract/status.ts";
import { toSummary } from "../executions/record.ts";
import { toIso } from "../../shared/clock.ts";
import { listLog } from "../store/execution-lists.ts";
import { findExecution, type LogRow } from "../store/executions.ts";
import { findRole } from "../store/people.ts";
import { isVisible } from "./access.ts";
import type { Api } from "./api.ts";
import { renewOrClose, toEvent, type EventStream } from "./event-streams.ts";
import { requireExecution } from "./execution.ts";
import { defineRoute } from "./route.ts";

export const getExecutionsEvents = defineRoute({
  method: "GET",
  path: "/execution/events",
  summary: "Follow executions as they change, as server-sent events",
  needs: "execution.read",
  type: "text/event-stream",
  async act({ streams, feed }, listener) {
    return streams.open(listener, (stream) => feed.subscribe(stream));
  },
});

export const getExecutionEvents = defineRoute({
  method: "GET",
  path: "/execution/:id/events",
  summary: "Follow one execution: its states and log lines; resumable by Last-Event-ID",
  needs: "execution.read",
  type: "text/event-stream",
  async act(api, listener) {
    const { principal, params, lastEventId } = listener;
    const { id } = await requireExecution(api, principal, params["id"] ?? "");
    const after = Number(lastEventId ?? 0);
    return api.streams.open(listener, (stream) =>
      followOne(api, stream, id, Number.isSafeInteger(after) ? after : 0),
    );
  },
});

/** Log lines are read at most so often while an execution writes them, in milliseconds. */
const GATHER_MS = 100;

/** An execution of another node is looked at so often, in milliseconds. */
const ELSEWHERE_MS = 1000;

/** Log lines of one look: a reader that is slow keeps them in memory. */
const LINES = 100;

/** Sends what is new, one look at a time; the end of the execution ends the stream. */
function followOne(api: Api, stream: EventStream, id: string, start: number): () => void {
  let after = start;
  let status = "";
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let isDue = false;

  /** @returns whether there may be more lines */
  async function sendNext(): Promise<boolean> {
    const row = await findExecution(api.store, id);
    const principal = await renewOrClose(api.logins, stream);
    if (principal === null) return false;
    if (row === undefined || !isVisible(principal, "execution.read", row.project_id)) {
      stream.close();
      return false;
    }
    const lines = await listLog(api.store, id, { after, limit: LINES });
    if (lines.length > 0) stream.send(Buffer.concat(lines.map(toLogEvent)));
    after = lines.at(-1)?.seq ?? after;
    const isRest = lines.length < LINES;
    // Who reads it has read the whole log.
    if (row.status !== status && (isRest || !isEnded(row.status))) {
      const role = row.role_id === null ? undefined : await findRole(api.store, row.role_id);
      stream.send(toEvent("status", toSummary(row, role?.name ?? null)));
      status = row.status;
    }
    if (isEnded(status) && isRest) stream.close();
    return !isRest;
  }

  async function sendAll(): Promise<void> {
    do await stream.drained();
    while (stream.isOpen && (await sendNext()));
  }

  function watch(): void {
    isLooking = true;
    isDue = false;
    sendAll()
      .catch(() => stream.close())
      .finally(() => {
        isLooking = false;
        if (isDue) later();
      });
  }

  function later(): void {
    isDue = true;
    if (isLooking || !stream.isOpen) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      watch();
    }, GATHER_MS);
  }

  const unsubscribe = api.executions.changes.subscribe((changed) => {
    if (changed === id) later();
  });
  const isShared = api.store.node !== null;
  const elsewhere = isShared ? setInterval(later, ELSEWHERE_MS) : undefined;
  watch();
  return () => {
    unsubscribe();
    clearInterval(elsewhere);
    clearTimeout(timer);
  };
}

function toLogEvent({ seq, at, level, text }: LogRow): Uint8Array {
  return toEvent("log", { at: toIso(at), level, text }, String(seq));
}
