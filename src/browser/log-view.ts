import { el } from "./element.ts";
import { clock } from "./format.ts";
import type { LogLine } from "./resources.ts";

export interface LogView {
  readonly element: HTMLElement;
  add(line: LogLine): void;
  replace(lines: readonly LogLine[]): void;
}

/** The log lines of an execution, as they come. */
export function openLogView(): LogView {
  const list = el("div", { class: "log", tabindex: 0, role: "log", "aria-label": "Log" });
  const empty = el("p", { class: "soft" }, "It has logged nothing.");
  const element = el("div", {}, list, empty);
  const count = (): void => {
    list.hidden = list.childElementCount === 0;
    empty.hidden = !list.hidden;
  };
  count();
  return {
    element,
    add(line) {
      const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
      list.append(toRow(line));
      count();
      if (isAtEnd) list.scrollTop = list.scrollHeight;
    },
    replace(lines) {
      list.replaceChildren(...lines.map(toRow));
      count();
    },
  };
}

function toRow({ at, level, text }: LogLine): HTMLElement {
  return el(
    "p",
    {},
    el("span", { class: "soft" }, clock(at)),
    el("span", { class: level }, level),
    el("span", { class: "text" }, text),
  );
}
