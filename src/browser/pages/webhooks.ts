import { read, readAll, type List } from "../api.ts";
import { el, need } from "../element.ts";
import { fillChoices, valueOf } from "../form.ts";
import { filterForm } from "../filters.ts";
import { time } from "../format.ts";
import { pagePath } from "../page.ts";
import { openPagedList } from "../paged-list.ts";
import type { ExecutionSummary, Flow, Webhook } from "../resources.ts";
import { start } from "../start.ts";
import { badge, outcomes } from "../status.ts";

/** Executions that the row of a webhook looks back on. */
const RECENT = 8;

start(async () => {
  const form = need("#filters", HTMLFormElement);
  const flows = await readAll<Flow>("flow").catch(() => []);
  const choices = flows.map(({ name }) => [name, name] as const);
  fillChoices(need("#flow", HTMLSelectElement), [["", "All flows"], ...choices]);
  const list = openPagedList<Webhook>({
    container: need("#webhooks", HTMLElement),
    path: ["webhook"],
    query: () => ({
      text: valueOf(form, "text"),
      flow: valueOf(form, "flow"),
      is_enabled: valueOf(form, "is_enabled"),
    }),
    row: toRow,
  });
  await filterForm(form, () => list.reload());
});

function toRow(webhook: Webhook): HTMLElement {
  const last = el("td", { class: "wide" });
  const recent = el("td");
  const row = el(
    "tr",
    {},
    el(
      "th",
      { scope: "row" },
      el("a", { href: pagePath("webhooks", webhook.name) }, webhook.name),
      webhook.description === "" ? null : el("p", { class: "soft line" }, webhook.description),
    ),
    el("td", { class: "wide" }, el("a", { href: pagePath("flows", webhook.flow) }, webhook.flow)),
    el("td", {}, stateOf(webhook)),
    last,
    recent,
  );
  onceVisible(row, () => void fillRecent(webhook.name, last, recent));
  return row;
}

function stateOf({ is_enabled, is_productive }: Webhook): HTMLElement {
  const enabled = is_enabled ? badge("Enabled", "good") : badge("Disabled", "idle");
  const development = is_productive ? null : badge("Development", "busy");
  return el("span", { class: "badges" }, enabled, development);
}

/** Rows that nobody scrolls to cost no request. */
function onceVisible(element: HTMLElement, act: () => void): void {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    act();
  });
  observer.observe(element);
}

async function fillRecent(webhook: string, last: HTMLElement, recent: HTMLElement) {
  try {
    const query = { webhook, limit: String(RECENT) };
    const { items } = await read<List<ExecutionSummary>>(["execution"], query);
    const [newest] = items;
    if (newest === undefined) return last.append(el("span", { class: "soft" }, "not yet"));
    last.append(el("a", { href: pagePath("executions", newest.id) }, time(newest.created_at)));
    recent.append(outcomes(items));
  } catch {
    // Who may see webhooks may not see executions.
    last.append("–");
  }
}
