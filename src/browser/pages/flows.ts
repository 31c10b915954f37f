import { call, readAll, type List } from "../api.ts";
import { el, find, need } from "../element.ts";
import { attempt, notify } from "../notice.ts";
import { pagePath } from "../page.ts";
import type { Flow } from "../resources.ts";
import { start } from "../start.ts";
import { flowBadge } from "../flow-badge.ts";

start(async () => {
  const reload = find("#reload");
  if (reload instanceof HTMLButtonElement)
    reload.addEventListener("click", () => void attempt(reloadFlows, reload));
  show(await readAll<Flow>("flow"));
});

async function reloadFlows(): Promise<void> {
  const { body } = await call<List<Flow>>("POST", ["flow", "reload"]);
  show(body.items);
  notify("The plugins folder was read again");
}

function show(flows: readonly Flow[]): void {
  const place = need("#flows", HTMLElement);
  if (flows.length === 0) return place.replaceChildren(empty());
  const heads = ["Name", "State", "Version", "Bundle"].map((name) =>
    el("th", { scope: "col", class: name === "Name" || name === "State" ? "" : "wide" }, name),
  );
  place.replaceChildren(
    el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...flows.map(toRow))),
  );
}

function toRow(flow: Flow): HTMLElement {
  const { name, description, version, bundle, error } = flow;
  const more = error?.message ?? description ?? "";
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("a", { href: pagePath("flows", name) }, name),
      el("p", { class: "soft line" }, more),
    ),
    el("td", {}, flowBadge(flow)),
    el("td", { class: "wide" }, version === null ? "–" : el("code", {}, version.slice(0, 8))),
    el("td", { class: "wide" }, bundle ?? "–"),
  );
}

function empty(): HTMLElement {
  return el(
    "div",
    { class: "empty" },
    el("h2", {}, "There is no flow yet"),
    el(
      "p",
      {},
      "Put a file with a default export into the plugins folder; it appears here by itself.",
    ),
  );
}
