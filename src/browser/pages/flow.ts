import { call, read } from "../api.ts";
import { el, need } from "../element.ts";
import { parseInput } from "../execution-acts.ts";
import { flowBadge } from "../flow-badge.ts";
import { onSubmit } from "../form.ts";
import { sourceView } from "../highlight.ts";
import { may, PARAMS, pagePath } from "../page.ts";
import { plainTable } from "../paged-frame.ts";
import type { Flow, Permissions } from "../resources.ts";
import { start } from "../start.ts";
import { openTabs } from "../tabs.ts";

const NAME = PARAMS["name"] ?? "";

start(async () => {
  openTabs(need("[role=tablist]", HTMLElement));
  const flow = await read<Flow>(["flow", NAME]);
  need("#badges", HTMLElement).replaceChildren(flowBadge(flow));
  need("#description", HTMLElement).textContent = flow.description ?? "";
  showSource(flow);
  need("#limits", HTMLElement).replaceChildren(...limitsOf(flow));
  const form = need("#run-form", HTMLFormElement);
  if (!may("execution.start")) return form.replaceWith("Your roles do not start executions.");
  onSubmit(form, async () => {
    const body = { input_value: parseInput(form) };
    const { body: started } = await call<{ id: string }>("POST", ["flow", NAME, "execution"], {
      body,
    });
    location.assign(pagePath("executions", started.id));
  });
});

function showSource(flow: Flow): void {
  const { error, source, file } = flow;
  const place = placeOf(flow);
  if (error !== null) {
    const where =
      place === null ? null : el("a", { href: "#error-line" }, `${file}, line ${place}`);
    const stack =
      error.stack === null
        ? null
        : el("details", {}, el("summary", {}, "Stack"), el("pre", { tabindex: 0 }, error.stack));
    const box = el("div", { class: "trouble" }, el("p", {}, error.message), where, stack);
    need("#error", HTMLElement).replaceChildren(box);
  }
  const shown =
    source === null || source === undefined
      ? el("p", {}, "The file is gone.")
      : sourceView(source, place);
  need("#source", HTMLElement).replaceChildren(el("p", { class: "soft" }, file), shown);
}

/** The line in the flow's own file that the error names first. */
function placeOf({ error, file }: Flow): number | null {
  if (error === null) return null;
  const text = `${error.message}\n${error.stack ?? ""}`;
  const at = text.indexOf(`${file}:`);
  const line = at === -1 ? Number.NaN : Number.parseInt(text.slice(at + file.length + 1), 10);
  return Number.isNaN(line) ? null : line;
}

function limitsOf(flow: Flow): HTMLElement[] {
  const { permissions, granted, timeout_sec, memory_mb, isolation, version, bundle } = flow;
  const rows = [
    ["Network", textOf(permissions, "net"), textOf(granted, "net")],
    ["Reads files", textOf(permissions, "read"), textOf(granted, "read")],
    ["Writes files", textOf(permissions, "write"), textOf(granted, "write")],
    ["Secrets", textOf(permissions, "secrets"), textOf(granted, "secrets")],
  ];
  const lines = rows.map(([name = "", ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((cell) => el("td", {}, cell))),
  );
  const table = plainTable("Permissions", ["Permission", "Declared", "Granted"], lines);
  const facts = [
    ["Longest run", `${timeout_sec} s`],
    ["Memory", memory_mb === null ? "–" : `${memory_mb} MB`],
    ["Fresh thread for each run", isolation === "execution" ? "yes" : "no"],
    ["Version that serves", version ?? "none"],
    ["Bundle", bundle ?? "none"],
    ["Checks its input", flow.has_input_schema === true ? "yes, against a schema" : "no"],
  ];
  const pairs = facts.flatMap(([name = "", value = ""]) => [
    el("dt", {}, name),
    el("dd", {}, value),
  ]);
  return [table, el("h2", {}, "Limits"), el("dl", { class: "pairs" }, ...pairs)];
}

function textOf(permissions: Partial<Permissions> | null, name: keyof Permissions): string {
  const value = permissions?.[name];
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === undefined || value.length === 0 ? "none" : value.join(", ");
}
