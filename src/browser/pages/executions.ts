import { readAll } from "../api.ts";
import { find, need } from "../element.ts";
import { executionRow } from "../execution-row.ts";
import { filterForm } from "../filters.ts";
import { fillChoices, valueOf } from "../form.ts";
import { gather } from "../gathered.ts";
import { follow } from "../live.ts";
import { complain } from "../notice.ts";
import { may } from "../page.ts";
import { openPagedList, type PagedList } from "../paged-list.ts";
import type { ExecutionSummary, Flow, Named } from "../resources.ts";
import { start } from "../start.ts";

/** Rows of a page, as `PagedList` asks for them. */
const PAGE = 50;

start(async () => {
  const form = need("#filters", HTMLFormElement);
  const list = openPagedList<ExecutionSummary>({
    container: need("#executions", HTMLElement),
    path: ["execution"],
    query: () => toQuery(form),
    row: executionRow,
  });
  await fillFilters();
  await filterForm(form, () => list.reload());
  const take = gather<ExecutionSummary>(
    ({ id }) => id,
    (changed) => showChanged(list, form, changed),
  );
  let isFirst = true;
  follow(
    ["execution", "events"],
    { execution: (data) => take(data as ExecutionSummary) },
    () => {
      if (!isFirst && list.isFirstPage()) list.reload().catch(complain);
      isFirst = false;
    },
    (isLive) => {
      need("#live", HTMLElement).textContent = isLive ? "Live" : "Not live";
    },
  );
});

async function fillFilters(): Promise<void> {
  const [webhooks, flows, projects] = await Promise.all([
    may("webhook.read") ? readAll<Named>("webhook") : [],
    may("flow.read") ? readAll<Flow>("flow") : [],
    may("project.read") ? readAll<Named>("project") : [],
  ]);
  const byName = (all: readonly Named[]) => all.map(({ name }) => [name, name] as const);
  fillChoices(need("#webhook", HTMLSelectElement), [["", "All webhooks"], ...byName(webhooks)]);
  fillChoices(need("#flow", HTMLSelectElement), [["", "All flows"], ...byName(flows)]);
  fillChoices(need("#project_id", HTMLSelectElement), [
    ["", "All projects"],
    ...projects.map(({ id = "", name }) => [id, name] as const),
  ]);
}

function toQuery(form: HTMLElement): Record<string, string | undefined> {
  return {
    status: valueOf(form, "status"),
    webhook: valueOf(form, "webhook"),
    flow: valueOf(form, "flow"),
    project_id: valueOf(form, "project_id"),
    text: valueOf(form, "text"),
    from: toIso(valueOf(form, "from")),
    to: toIso(valueOf(form, "to")),
  };
}

/** The field has the visitor's own time, without a zone. */
function toIso(local: string): string | undefined {
  return local === "" || Number.isNaN(Date.parse(local))
    ? undefined
    : new Date(local).toISOString();
}

/** Rows that are there change in place; new ones come on top of the first page. */
function showChanged(
  list: PagedList,
  form: HTMLElement,
  changed: readonly ExecutionSummary[],
): void {
  const { tbody } = list;
  const query = toQuery(form);
  for (const execution of changed.slice(-PAGE)) {
    const row = find(`[data-id="${CSS.escape(execution.id)}"]`, tbody);
    const isWanted = matches(execution, query);
    if (row !== null) replaceRow(row, execution, isWanted);
    else if (isWanted && list.isFirstPage()) {
      const made = executionRow(execution);
      made.classList.add("new");
      tbody.prepend(made);
    }
  }
  while (tbody.childElementCount > PAGE) tbody.lastElementChild?.remove();
  list.showEmpty();
}

function replaceRow(row: HTMLElement, execution: ExecutionSummary, isWanted: boolean): void {
  // A row that somebody is on with the keyboard keeps its focus.
  const hasFocus = row.contains(document.activeElement);
  const made = executionRow(execution);
  if (isWanted) row.replaceWith(made);
  else if (!hasFocus) row.remove();
  if (isWanted && hasFocus) made.querySelector<HTMLElement>("a")?.focus();
}

function matches(execution: ExecutionSummary, query: Record<string, string | undefined>): boolean {
  const { status, webhook, flow, project_id, text, from, to } = query;
  if (status && !status.split(",").includes(execution.status)) return false;
  if (webhook && execution.webhook !== webhook) return false;
  if (flow && execution.flow !== flow) return false;
  if (project_id && execution.project_id !== project_id) return false;
  if (from && execution.created_at < from) return false;
  if (to && execution.created_at >= to) return false;
  const message = execution.status_message?.toLowerCase() ?? "";
  return !text || message.includes(text.toLowerCase());
}
