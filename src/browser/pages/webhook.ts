import { call, read, type List } from "../api.ts";
import { callChart } from "../call-chart.ts";
import { el, need } from "../element.ts";
import { executionTable } from "../execution-row.ts";
import { complain } from "../notice.ts";
import { may, PARAMS, pagePath } from "../page.ts";
import { showRefused } from "../refused-calls.ts";
import type { ExecutionSummary, Webhook } from "../resources.ts";
import { start } from "../start.ts";
import { badge } from "../status.ts";
import { openTabs } from "../tabs.ts";
import { openTryIt } from "../try-it.ts";
import { showAccess } from "../webhook-access.ts";
import { ANSWER_FIELDS } from "../webhook-answers.ts";
import { DELIVERY_FIELDS } from "../webhook-delivery.ts";
import { showMembers } from "../webhook-members.ts";
import { showSettings } from "../webhook-settings.ts";
import { showUse } from "../webhook-use.ts";

const NAME = PARAMS["name"] ?? "";

start(async () => {
  const { body: webhook, etag } = await call<Webhook>("GET", ["webhook", NAME]);
  const settings = { webhook, etag };
  const changed = (now: Webhook): void => {
    settings.webhook = now;
    showHead(now);
    showUse(need("#use", HTMLElement), now);
    showTry(now);
    showAccess(need("#access", HTMLElement), now, onAccess);
  };
  const saved = (now: Webhook): void => {
    showHead(now);
    showUse(need("#use", HTMLElement), now);
  };
  // The state that a save must match is another one after a change of access.
  const onAccess = (now: Webhook, state: string | null): void => {
    settings.etag = state;
    changed(now);
  };
  changed(webhook);
  showMembers(need("#answers", HTMLElement), settings, ANSWER_FIELDS, saved);
  showMembers(need("#delivery", HTMLElement), settings, DELIVERY_FIELDS, saved);
  let calls: Promise<void> | undefined;
  openTabs(need("[role=tablist]", HTMLElement), (tab) => {
    if (tab === "calls") calls ??= showCalls().catch(complain);
  });
  await Promise.all([showSettings(settings, changed), calls]);
});

function showHead({ name, is_enabled, is_productive }: Webhook): void {
  need("h1", HTMLElement).textContent = name;
  const badges = [is_enabled ? badge("Enabled", "good") : badge("Disabled", "idle")];
  if (!is_productive) badges.push(badge("Development", "busy"));
  need("#badges", HTMLElement).replaceChildren(...badges);
}

function showTry(webhook: Webhook): void {
  const place = need("#try", HTMLElement);
  place.replaceChildren();
  if (!webhook.is_enabled) {
    const link = el("a", { href: "#access" }, "Enable it");
    place.append(el("p", {}, "The webhook is disabled, so a call is answered with 404. ", link));
  }
  openTryIt(place, webhook, webhook.key ?? "");
}

async function showCalls(): Promise<void> {
  await showRefused(need("#refused", HTMLElement), NAME);
  const place = need("#recent", HTMLElement);
  if (!may("execution.read")) return place.replaceChildren("Your roles do not show executions.");
  await callChart(need("#chart", HTMLElement), { webhook: NAME }).drawn;
  const query = { webhook: NAME, limit: "10" };
  const { items } = await read<List<ExecutionSummary>>(["execution"], query);
  const all = `${pagePath("executions")}?webhook=${encodeURIComponent(NAME)}`;
  place.replaceChildren(
    el("h2", {}, "Latest executions"),
    items.length === 0 ? el("p", {}, "It was not called yet.") : executionTable(items),
    el("p", {}, el("a", { href: all }, "All its executions")),
  );
}
