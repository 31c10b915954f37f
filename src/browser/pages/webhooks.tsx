import { ButtonLink, PageHead } from "../head.tsx";
import { useEffect, useRef, useState } from "hono/jsx/dom";
import { read, readAll, type List } from "../api.ts";
import { useServiceBack } from "../connection.ts";
import { Field } from "../field.tsx";
import { FilterForm, useFiltersOfAddress } from "../filters.tsx";
import { number, plural } from "../format.ts";
import { useLoaded, useRefresh } from "../loaded.ts";
import { may, pagePath } from "../page.ts";
import { PagedList, usePages } from "../paged-list.tsx";
import { readToday } from "../range.ts";
import type { ExecutionSummary, Flow, Interval, Webhook } from "../resources.ts";
import { start } from "../start.tsx";
import { Badge, Outcomes } from "../status.tsx";
import { Empty, NamedCell, type Column } from "../table.tsx";
import { Time } from "../time.tsx";
import { WebhookBadges } from "../webhook-badges.tsx";
import { CallerBadges, ModeOf } from "../webhook-callers.tsx";

/** How often today's calls are read again, in milliseconds: a page may stay open for days. */
const TODAY_MS = 60_000;

/** Calls that a row looks back on. */
const RECENT = 8;

const STATES = [
  ["", "Any state"],
  ["true", "Enabled"],
  ["false", "Disabled"],
] as const;

const COLUMNS: readonly Column<Webhook>[] = [
  ["Name", (webhook) => <Name webhook={webhook} />, "head"],
  ["Flow", ({ flow }) => <a href={pagePath("flows", flow)}>{flow}</a>, "wide"],
  ["State", (webhook) => <State webhook={webhook} />],
  ["Who may call", (webhook) => <CallerBadges webhook={webhook} />, "wide"],
  ["Mode", (webhook) => <ModeOf webhook={webhook} />, "wide"],
];

/** Calls of each webhook by its name; null: not read yet. */
type Today = Awaited<ReturnType<typeof readToday>> | null;

function columnsWith(today: Today): readonly Column<Webhook>[] {
  if (!may("execution.read")) return COLUMNS;
  return [
    ...COLUMNS,
    ["Today", ({ name }) => (today === null ? null : <CallsOf day={today.get(name)} />)],
    ["Latest calls", ({ name }) => <Latest webhook={name} />, "wide"],
  ];
}

start(async () => <WebhooksPage />);

function WebhooksPage() {
  const first = useFiltersOfAddress(["text", "flow", "is_enabled"]);
  const [filters, apply] = useState(first);
  const pages = usePages<Webhook>(["webhook"], filters);
  const [flows] = useLoaded(() => readAll<Flow>("flow").catch(() => []));
  const isShowing = may("execution.read");
  const [today, reload] = useLoaded(() => (isShowing ? readToday() : Promise.resolve(null)));
  useRefresh(reload, isShowing, TODAY_MS);
  const names = (flows ?? []).map(({ name }) => [name, name] as const);
  return (
    <>
      <PageHead title="Webhooks">
        {may("webhook.write") ? (
          <ButtonLink to={pagePath("new-webhook")}>New webhook</ButtonLink>
        ) : null}
      </PageHead>
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
        columns={columnsWith(today)}
        rowOf={({ id }) => ({ id })}
        empty={
          <Empty title="No webhook is here">
            A webhook is a URL that starts a flow. Create one, or change the filters above.
          </Empty>
        }
      />
    </>
  );
}

function Name({ webhook: { name, description } }: { webhook: Webhook }) {
  return <NamedCell name={name} path={pagePath("webhooks", name)} note={description} />;
}

/** On a phone with who may call it below, where there is no column for that. */
function State({ webhook }: { webhook: Webhook }) {
  return (
    <>
      <WebhookBadges webhook={webhook} />
      <div class="phone">
        <CallerBadges webhook={webhook} />
      </div>
    </>
  );
}

function CallsOf({ day }: { day: Interval | undefined }) {
  const { calls = 0, failures = 0 } = day ?? {};
  if (calls === 0) return <span class="soft">none</span>;
  return (
    <span class="badges">
      {plural(calls, "call")}
      {failures === 0 ? null : <Badge label={`${number(failures)} failed`} state="bad" />}
    </span>
  );
}

function Latest({ webhook }: { webhook: string }) {
  const place = useRef<HTMLElement | null>(null);
  const [latest, setLatest] = useState<readonly ExecutionSummary[] | null>(null);
  const wasSeen = useRef(false);
  const fill = (): void => {
    wasSeen.current = true;
    readLatest(webhook).then(setLatest, () => {});
  };
  useEffect(() => onceVisible(place.current, fill), [webhook]);
  useServiceBack(latest === null, () => {
    if (wasSeen.current === true) fill();
  });
  const [newest] = latest ?? [];
  return (
    <span ref={place} class="badges">
      {newest === undefined ? (
        <span class="soft">{latest === null ? "" : "not yet"}</span>
      ) : (
        <>
          <Outcomes newestFirst={latest ?? []} />
          <a class="wide" href={pagePath("executions", newest.id)}>
            <Time of={newest.created_at} />
          </a>
        </>
      )}
    </span>
  );
}

/** Rows that nobody scrolls to cost no request. */
function onceVisible(element: HTMLElement | null, act: () => void) {
  if (element === null) return;
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    act();
  });
  observer.observe(element);
  return () => observer.disconnect();
}

async function readLatest(webhook: string): Promise<readonly ExecutionSummary[]> {
  const query = { webhook, limit: String(RECENT) };
  return (await read<List<ExecutionSummary>>(["execution"], query)).items;
}
