import { button, el, type Child } from "./element.ts";

/** What `PagedList` of the shells makes, for lists whose columns only the module knows. */
export function pagedFrame(
  caption: string,
  columns: readonly string[],
  empty: readonly Child[],
): HTMLElement {
  const table = el(
    "table",
    { hidden: true },
    el("caption", { class: "hidden-text" }, caption),
    headOf(columns),
    el("tbody"),
  );
  return el(
    "div",
    { class: "list" },
    el("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 }, table),
    el("div", { class: "empty", hidden: true }, ...empty),
    el(
      "div",
      { class: "paging", hidden: true },
      button("Back", "quiet newer", () => {}),
      button("Next", "quiet older", () => {}),
    ),
  );
}

/** A small table that needs no paging. */
export function plainTable(
  caption: string,
  columns: readonly string[],
  rows: readonly HTMLElement[],
): HTMLElement {
  const table = el(
    "table",
    {},
    el("caption", { class: "hidden-text" }, caption),
    headOf(columns),
    el("tbody", {}, ...rows),
  );
  return el("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 }, table);
}

/** A column that starts with `-` is left out on narrow screens; one without a name has acts. */
function headOf(columns: readonly string[]): HTMLElement {
  const heads = columns.map((column) => {
    const name = column.replace(/^-/, "");
    const style = column.startsWith("-") ? "wide" : "";
    return name === ""
      ? el("td", { class: style })
      : el("th", { scope: "col", class: style }, name);
  });
  return el("thead", {}, el("tr", {}, ...heads));
}
