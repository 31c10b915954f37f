import { PageHead } from "../head.tsx";
import { useState } from "hono/jsx/dom";
import { call, read, type List } from "../api.ts";
import { useCallChanges } from "../call-changes.ts";
import { RangeChart, RangeChoice } from "../call-chart.tsx";
import { EXECUTION_COLUMNS } from "../execution-list.tsx";
import { FlowTrouble } from "../flow-trouble.tsx";
import { useLoaded, useRefresh } from "../loaded.ts";
import { may, PARAMS, pagePath } from "../page.ts";
import { RANGES, type Range } from "../range.ts";
import { RefusedCalls } from "../refused-calls.tsx";
import type { ExecutionSummary, Webhook } from "../resources.ts";
import { start } from "../start.tsx";
import { Table } from "../table.tsx";
import { Tabs } from "../tabs.tsx";
import { TryIt } from "../try-it.tsx";
import { KEY_ROW, WebhookAccess } from "../webhook-access.tsx";
import { WebhookAnswers } from "../webhook-answers.tsx";
import { WebhookBadges } from "../webhook-badges.tsx";
import { WebhookDelivery } from "../webhook-delivery.tsx";
import { WebhookLimits } from "../webhook-limits.tsx";
import type { ShownWebhook } from "../webhook-members.tsx";
import { WebhookSettings } from "../webhook-settings.tsx";
import { WebhookUse } from "../webhook-use.tsx";

const NAME = PARAMS["name"] ?? "";

start(async () => <WebhookPage first={await call<Webhook>("GET", ["webhook", NAME])} />, {
  noun: "webhook",
  name: NAME,
  reason: "It may have been renamed or deleted.",
  list: ["webhooks", "Webhooks"],
});

function WebhookPage({ first }: { first: ShownWebhook }) {
  const [shown, changed] = useState(first);
  useRefresh(async () => {
    // A dialog has what it asks for, and may be deleting the webhook.
    if (document.querySelector("dialog[open]") !== null) return;
    const now = await call<Webhook>("GET", ["webhook", NAME]);
    // Not over what was saved here meanwhile.
    changed((before) => (before === shown && now.etag !== before.etag ? now : before));
  });
  const webhook = shown.body;
  const part = { shown, changed };
  const tabs = [
    { id: "use", label: "Use", content: () => <WebhookUse webhook={webhook} /> },
    { id: "try", label: "Try it", content: () => <Try webhook={webhook} /> },
    { id: "calls", label: "Calls", content: (isOpen: boolean) => <Calls isOpen={isOpen} /> },
    {
      id: "refused",
      label: "Refused",
      content: (isOpen: boolean) => <RefusedCalls webhook={NAME} isOpen={isOpen} />,
    },
    { id: "settings", label: "Settings", content: () => <WebhookSettings {...part} /> },
    { id: "limits", label: "Limits", content: () => <WebhookLimits {...part} /> },
    { id: "answers", label: "Bodies and answers", content: () => <WebhookAnswers {...part} /> },
    { id: "delivery", label: "Delivery", content: () => <WebhookDelivery {...part} /> },
    {
      id: "access",
      label: "Access",
      holds: [KEY_ROW],
      content: () => <WebhookAccess {...part} />,
    },
  ];
  return (
    <>
      <PageHead title={webhook.name} list={["webhooks", "Webhooks"]}>
        <span id="badges">
          <WebhookBadges webhook={webhook} />
        </span>
      </PageHead>
      <FlowTrouble flow={webhook.flow} />
      <Tabs label="Webhook" tabs={tabs} />
    </>
  );
}

function Try({ webhook }: { webhook: Webhook }) {
  return (
    <>
      {webhook.is_enabled ? null : (
        <p>
          The webhook is disabled, so a call is answered with 404. <a href="#access">Enable it</a>
        </p>
      )}
      {webhook.signature?.mode !== "enforce" ? null : (
        <p>
          Callers sign what they send, which this page cannot: it has no secret.{" "}
          <a href="#use">The command that signs</a>
        </p>
      )}
      <TryIt webhook={webhook} />
    </>
  );
}

/** As they come, while they are looked at. */
function Calls({ isOpen }: { isOpen: boolean }) {
  const query = { webhook: NAME, limit: "10" };
  const isAllowed = may("execution.read");
  const [range, choose] = useState<Range>(RANGES[0]);
  const changes = useCallChanges(range, { webhook: NAME, isShown: isOpen });
  const readLatest = async () =>
    isAllowed ? read<List<ExecutionSummary>>(["execution"], query) : null;
  const [latest] = useLoaded(readLatest, [], changes.latest);
  const all = `${pagePath("executions")}?webhook=${encodeURIComponent(NAME)}`;
  return (
    <>
      <h2>Calls</h2>
      {isAllowed ? (
        <>
          <RangeChoice chosen={range} choose={choose} />
          <RangeChart range={range} webhook={NAME} count={changes.ofRange} />
        </>
      ) : (
        <p>Your roles do not show executions.</p>
      )}
      {latest === null ? null : (
        <>
          <h2>Latest executions</h2>
          {latest.items.length === 0 ? (
            <p>It was not called yet.</p>
          ) : (
            <Table
              caption="Executions"
              columns={EXECUTION_COLUMNS}
              items={latest.items}
              rowOf={({ id }) => ({ id })}
            />
          )}
          <p>
            <a href={all}>All its executions</a>
          </p>
        </>
      )}
    </>
  );
}
