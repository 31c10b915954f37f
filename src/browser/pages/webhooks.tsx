import { useEffect, useRef, useState } from "hono/jsx/dom";
import { read, readAll, type List } from "../api.ts";
import { Field } from "../field.tsx";
import { FilterForm, filtersOfAddress } from "../filters.tsx";
import { useLoaded } from "../loaded.ts";
import { may, pagePath } from "../page.ts";
import { PagedList, usePages } from "../paged-list.tsx";
import type { ExecutionSummary, Flow, Webhook } from "../resources.ts";
import { start } from "../start.tsx";
import { Outcomes } from "../status.tsx";
import { Time } from "../time.tsx";
import { WebhookBadges } from "../webhook-badges.tsx";

/** Executions that the row of a webhook looks back on. */
const RECENT = 8;

const STATES = [
  ["", "Any state"],
  ["true", "Enabled"],
  ["false", "Disabled"],
] as const;

const COLUMNS = ["Name", "-Flow", "State", "-Last call", "Recent outcome"];

start(async () => <WebhooksPage />);

function WebhooksPage() {
  const [first] = useState(filtersOfAddress);
  const [filters, apply] = useState(first);
  const pages = usePages<Webhook>(["webhook"], filters);
  const [flows] = useLoaded(() => readAll<Flow>("flow").catch(() => []));
  const names = (flows ?? []).map(({ name }) => [name, name] as const);
  return (
    <>
      <div class="head">
        <h1>Webhooks</h1>
        {may("webhook.write") ? (
          <a class="button" href={pagePath("new-webhook")}>
            New webhook
          </a>
        ) : null}
      </div>
      <FilterForm apply={apply}>
        <Field name="text" label="Name contains" type="search" value={first["text"] ?? ""} />
        <Field
          name="flow"
          label="Flow"
          choices={[["", "All flows"], ...names]}
          value={first["flow"] ?? ""}
        />
        <Field name="is_enabled" label="State" choices={STATES} value={first["is_enabled"] ?? ""} />
      </FilterForm>
      <PagedList
        pages={pages}
        caption="Webhooks"
        columns={COLUMNS}
        row={(webhook) => <Row key={webhook.id} webhook={webhook} />}
        empty={
          <>
            <h2>No webhook is here</h2>
            <p>A webhook is a URL that starts a flow. Create one, or change the filters above.</p>
          </>
        }
      />
    </>
  );
}

function Row({ webhook }: { webhook: Webhook }) {
  const { name, description, flow } = webhook;
  const row = useRef<HTMLElement | null>(null);
  const [recent, setRecent] = useState<readonly ExecutionSummary[] | null>(null);
  useEffect(() => onceVisible(row.current, () => readRecent(name).then(setRecent)), [name]);
  const [newest] = recent ?? [];
  return (
    <tr ref={row}>
      <th scope="row">
        <a href={pagePath("webhooks", name)}>{name}</a>
        {description === "" ? null : <p class="soft line">{description}</p>}
      </th>
      <td class="wide">
        <a href={pagePath("flows", flow)}>{flow}</a>
      </td>
      <td>
        <WebhookBadges webhook={webhook} />
      </td>
      <td class="wide">
        {newest === undefined ? (
          <span class="soft">{recent === null ? "" : "not yet"}</span>
        ) : (
          <a href={pagePath("executions", newest.id)}>
            <Time of={newest.created_at} />
          </a>
        )}
      </td>
      <td>{newest === undefined ? null : <Outcomes newestFirst={recent ?? []} />}</td>
    </tr>
  );
}

/** Rows that nobody scrolls to cost no request. */
function onceVisible(element: HTMLElement | null, act: () => Promise<void>) {
  if (element === null || !may("execution.read")) return;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    act().catch(() => {});
  });
  observer.observe(element);
  return () => observer.disconnect();
}

async function readRecent(webhook: string): Promise<readonly ExecutionSummary[]> {
  const query = { webhook, limit: String(RECENT) };
  return (await read<List<ExecutionSummary>>(["execution"], query)).items;
}
