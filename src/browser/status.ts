import { el } from "./element.ts";
import type { ExecutionSummary } from "./resources.ts";

interface Look {
  readonly label: string;
  readonly state: "good" | "bad" | "busy" | "idle";
}

const LOOKS: Readonly<Record<string, Look>> = {
  PENDING: { label: "Waiting", state: "idle" },
  RUNNING: { label: "Running", state: "busy" },
  ENDED_SUCCESS: { label: "Succeeded", state: "good" },
  ENDED_ERROR: { label: "Failed", state: "bad" },
  ENDED_TIMEOUT: { label: "Timed out", state: "bad" },
  ENDED_CANCELLED: { label: "Cancelled", state: "idle" },
};

function lookOf(status: string): Look {
  return LOOKS[status] ?? { label: status, state: "idle" };
}

/** The status of an execution, in a word and a colour. */
export function statusBadge(status: string): HTMLElement {
  const { label, state } = lookOf(status);
  return badge(label, state, status);
}

export function badge(label: string, state: Look["state"], title?: string): HTMLElement {
  return el("span", { class: `badge ${state}`, title }, label);
}

export function isEnded(status: string): boolean {
  return status.startsWith("ENDED_");
}

/** The last outcomes as a row of marks, the newest on the right. */
export function outcomes(newest_first: readonly ExecutionSummary[]): HTMLElement {
  const bad = newest_first.filter(({ status }) => lookOf(status).state === "bad").length;
  const text = `${bad} of the last ${newest_first.length} failed`;
  const marks = [...newest_first].reverse().map(({ status }) => {
    const { state, label } = lookOf(status);
    return el("i", { class: state, title: label });
  });
  return el("span", { class: "outcomes", role: "img", "aria-label": text }, ...marks);
}
