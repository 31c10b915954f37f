import { useState } from "hono/jsx/dom";
import { Field } from "../field.tsx";
import { FilterForm, filtersOfAddress } from "../filters.tsx";
import { PagedList, usePages } from "../paged-list.tsx";
import { Badge } from "../status.tsx";
import { Empty, type Column } from "../table.tsx";
import { Time } from "../time.tsx";

interface AuditEntry {
  readonly id: number;
  readonly at: string;
  readonly user_name: string | null;
  readonly address: string;
  readonly action: string;
  readonly target: string | null;
  readonly result: string;
  readonly members: readonly string[];
}

const FILTERS = [
  ["user_name", "User"],
  ["action", "Action"],
  ["target", "Of"],
] as const;

const COLUMNS: readonly Column<AuditEntry>[] = [
  ["When", ({ at }) => <Time of={at} />],
  ["Who", ({ user_name }) => user_name ?? "–", "wide"],
  ["Action", ({ action }) => action, "head act"],
  ["Of", ({ target }) => target ?? "–"],
  ["Members", ({ members }) => members.join(", "), "wide"],
  ["From", ({ address }) => address, "wide"],
  ["Result", ({ result }) => <Result of={result} />],
];

/** Who did what to what, when and from where; refused attempts too. */
export function Audit() {
  const [first] = useState(filtersOfAddress);
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

function Result({ of }: { of: string }) {
  if (/^2\d\d$/.test(of)) return <Badge label="Done" state="good" title={of} />;
  return <Badge label={of} state="bad" />;
}
