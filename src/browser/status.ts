import { STATUS, type Status } from "../shared/contract/status.ts";
import { el } from "./element.ts";
import type { ExecutionSummary } from "./resources.ts";

/** Of a badge; the stylesheet knows them. */
type Colour = "good" | "bad" | "busy" | "idle";

function colourOf(status: Status): Colour {
  if (STATUS[status].isFailure) return "bad";
  if (status === "ENDED_SUCCESS") return "good";
  return status === "RUNNING" ? "busy" : "idle";
}

/** The status of an execution, in a word and a colour. */
export function statusBadge(status: Status): HTMLElement {
  return badge(STATUS[status].label, colourOf(status), status);
}

export function badge(label: string, state: Colour, title?: string): HTMLElement {
  return el("span", { class: `badge ${state}`, title }, label);
}

/** The last outcomes as a row of marks, the newest on the right. */
export function outcomes(newestFirst: readonly ExecutionSummary[]): HTMLElement {
  const bad = newestFirst.filter(({ status }) => STATUS[status].isFailure).length;
  const text = `${bad} of the last ${newestFirst.length} failed`;
  const marks = [...newestFirst]
    .reverse()
    .map(({ status }) => el("i", { class: colourOf(status), title: STATUS[status].label }));
  return el("span", { class: "outcomes", role: "img", "aria-label": text }, ...marks);
}
