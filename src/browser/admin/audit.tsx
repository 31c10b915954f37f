import { useState } from "hono/jsx/dom";
import type { AuditEntry } from "../../shared/contract/audit-entry.ts";
import { Changes } from "../changes.tsx";
import { Field } from "../field.tsx";
import { FilterForm, useFiltersOfAddress } from "../filters.tsx";
import { PagedList, usePages } from "../paged-list.tsx";
import { Badge } from "../status.tsx";
import { Empty, type Column } from "../table.tsx";
import { Time } from "../time.tsx";
import { Said } from "../said.tsx";

const FILTERS = [
  ["user_name", "User"],
  ["action", "Action"],
  ["target", "Of"],
] as const;

const COLUMNS: readonly Column<AuditEntry>[] = [
  ["When", ({ at }) => <Time of={at} />],
  ["Who", ({ user_name }) => user_name ?? "–", "wide"],
  ["Action", (entry) => <Action of={entry} />, "head act"],
  ["Of", ({ target }) => target ?? "–", "wide"],
  ["Changes", (entry) => <Told of={entry} />, "wide"],
  ["From", ({ address }) => address, "wide address"],
  ["Result", ({ result }) => <Result of={result} />],
];

/** Who did what to what, when and from where; refused attempts too. */
export function Audit() {
  const first = useFiltersOfAddress(FILTERS.map(([name]) => name));
  const [filters, apply] = useState(first);
  const pages = usePages<AuditEntry>(["audit"], filters);
  return (
    <>
      <FilterForm apply={apply}>
        {FILTERS.map(([name, label]) => (
          <Field key={name} name={name} label={label} type="search" value={first[name] ?? ""} />
        ))}
      </FilterForm>
      <PagedList
        pages={pages}
        caption="Audit"
        columns={COLUMNS}
        empty={<Empty title="No entry is here">Change the filters above.</Empty>}
      />
    </>
  );
}

/** On a phone with its target and what changed below it, where there are no columns for those. */
function Action({ of }: { of: AuditEntry }) {
  return (
    <>
      {of.action}
      <div class="phone">
        {of.target === null ? null : <Said text={`of ${of.target}`} />}
        <Told of={of} />
      </div>
    </>
  );
}

/** What changed; then what was given beside it, whose values are not kept. */
function Told({ of: { changes, members } }: { of: AuditEntry }) {
  const told = new Set(changes.map(({ member }) => member));
  const others = members.filter((member) => !told.has(member));
  return (
    <>
      <Changes of={changes} />
      {others.length === 0 ? null : (
        <p class="soft line">
          <Said text={others.join(", ")} isCode />
        </p>
      )}
    </>
  );
}

function Result({ of }: { of: string }) {
  if (/^2\d\d$/.test(of)) return <Badge label="Done" state="good" title={of} />;
  return <Badge label={of} state="bad" />;
}
