import { PageHead } from "../head.tsx";
import { useLayoutEffect, useState } from "hono/jsx/dom";
import { EXECUTION_COLUMNS } from "../execution-list.tsx";
import { matches, toQuery } from "../execution-query.ts";
import { ExecutionFilters } from "../execution-filters.tsx";
import { filtersOfAddress, type Filters } from "../filters.tsx";
import { gather } from "../gathered.ts";
import { follow } from "../live.ts";
import { complain } from "../notice.tsx";
import { pagePath } from "../page.ts";
import { PAGE, PagedList, usePages, type Pages } from "../paged-list.tsx";
import type { ExecutionSummary } from "../resources.ts";
import { start } from "../start.tsx";
import { Empty } from "../table.tsx";

/** An execution of the list; those that came while it was looked at stand out. */
type Listed = ExecutionSummary & { readonly isNew?: boolean };

start(async () => <ExecutionsPage />);

function ExecutionsPage() {
  const [filters, apply] = useState(filtersOfAddress);
  const query = toQuery(filters);
  const pages = usePages<Listed>(["execution"], query);
  const isLive = useChanges(pages, query);
  return (
    <>
      <PageHead title="Executions">
        <span id="live" class="soft" role="status">
          {isLive === null ? "" : isLive ? "Live" : "Not live"}
        </span>
      </PageHead>
      <ExecutionFilters filters={filters} apply={apply} />
      <PagedList
        pages={pages}
        caption="Executions"
        columns={EXECUTION_COLUMNS}
        rowOf={({ id, isNew = false }) => ({ id, style: isNew ? "new" : "" })}
        empty={
          <Empty title="No execution is here">
            Each call of a webhook makes one. <a href={pagePath("webhooks")}>Try one</a>, or change
            the filters above.
          </Empty>
        }
      />
    </>
  );
}

/** Shows changes as they come. @returns whether they do; null before that is known */
function useChanges(pages: Pages<Listed>, query: Filters): boolean | null {
  const [isLive, setLive] = useState<boolean | null>(null);
  useLayoutEffect(() => {
    let isFirst = true;
    const take = gather<ExecutionSummary>(
      ({ id }) => id,
      (changed) => pages.change((items) => withChanges(items, changed, query, pages.isFirst)),
    );
    const live = follow(
      ["execution", "events"],
      { execution: (data) => take(data as ExecutionSummary) },
      () => {
        if (!isFirst && pages.isFirst) pages.reload().catch(complain);
        isFirst = false;
      },
      setLive,
    );
    return () => live.close();
  }, [JSON.stringify(query), pages.isFirst]);
  return isLive;
}

/** Rows that are there change in place; new ones come on top of the first page. */
function withChanges(
  items: readonly Listed[],
  changed: readonly ExecutionSummary[],
  query: Filters,
  isFirstPage: boolean,
): readonly Listed[] {
  const byId = new Map(changed.map((execution) => [execution.id, execution]));
  const here = new Set(items.map(({ id }) => id));
  const kept = items
    .map((item) => ({ ...item, ...byId.get(item.id) }))
    .filter((item) => !byId.has(item.id) || matches(item, query));
  const fresh = changed
    .filter(({ id }) => isFirstPage && !here.has(id))
    .filter((execution) => matches(execution, query))
    .map((execution) => ({ ...execution, isNew: true }));
  return [...fresh.toReversed(), ...kept].slice(0, PAGE);
}
