import { useState } from "hono/jsx/dom";
import { Field } from "../field.tsx";
import { FilterForm, filtersOfAddress } from "../filters.tsx";
import { PagedList, usePages } from "../paged-list.tsx";
import { Badge } from "../status.tsx";
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

const COLUMNS = ["When", "-Who", "Action", "Of", "-Members", "-From", "Result"];

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
        row={toRow}
        empty={
          <>
            <h2>No entry is here</h2>
            <p>Change the filters above.</p>
          </>
        }
      />
    </>
  );
}

function toRow({ id, at, user_name, address, action, target, result, members }: AuditEntry) {
  const isDone = /^2\d\d$/.test(result);
  return (
    <tr key={id}>
      <td>
        <Time of={at} />
      </td>
      <td class="wide">{user_name ?? "–"}</td>
      <th scope="row" class="act">
        {action}
      </th>
      <td>{target ?? "–"}</td>
      <td class="wide">{members.join(", ")}</td>
      <td class="wide">{address}</td>
      <td>
        {isDone ? (
          <Badge label="Done" state="good" title={result} />
        ) : (
          <Badge label={result} state="bad" />
        )}
      </td>
    </tr>
  );
}
