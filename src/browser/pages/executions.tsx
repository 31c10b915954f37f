import { PageHead } from "../head.tsx";
import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { isEnded } from "../../shared/contract/status.ts";
import { EXECUTION_COLUMNS } from "../execution-list.tsx";
import {
  canDecide,
  executionFiltersOfAddress,
  matches,
  toQuery,
  wrongsOfAddress,
} from "../execution-query.ts";
import { ExecutionFilters, WORDS } from "../execution-filters.tsx";
import { unknownFilterWord } from "../filter-words.ts";
import { useComplaintsOfAddress, type Filters } from "../filters.tsx";
import { gather } from "../gathered.ts";
import { follow } from "../live.ts";
import { complain } from "../notice.tsx";
import { pagePath } from "../page.ts";
import { PagedList, usePages, type Pages } from "../paged-list.tsx";
import type { ExecutionSummary } from "../resources.ts";
import { start } from "../start.tsx";
import { Empty } from "../table.tsx";

start(async () => <ExecutionsPage />);

function ExecutionsPage() {
  const [filters, apply] = useState(() => executionFiltersOfAddress());
  useComplaintsOfAddress(wrongsOfAddress);
  const query = toQuery(filters);
  const pages = usePages<ExecutionSummary>(["execution"], query);
  const isLive = useChanges(pages, query);
  // Those that came while the list was looked at stand out; identifiers grow with time.
  const newest = pages.atFirst.reduce((last, { id }) => (id > last ? id : last), "");
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
        rowOf={({ id }) => ({ id, style: id > newest ? "new" : "" })}
        empty={<NoExecution filters={filters} />}
      />
    </>
  );
}

/** Whether there is none at all, or none that a search asks for. */
function NoExecution({ filters }: { filters: Filters }) {
  if (Object.keys(filters).length === 0)
    return (
      <Empty title="There is no execution yet">
        Each call of a webhook makes one. <a href={pagePath("webhooks")}>Try one</a>.
      </Empty>
    );
  const unknown = unknownFilterWord(filters["text"] ?? "", WORDS);
  return (
    <Empty title="No execution matches">
      {unknown === null ? null : (
        <>
          <code>{unknown}:</code> is no filter, so it was looked for in the messages. The filters
          are {WORDS.map((word) => `${word}:`).join(", ")}.{" "}
        </>
      )}
      Change what you search for, or <a href={pagePath("executions")}>show all executions</a>.
    </Empty>
  );
}

/** How often the list is read again where only the service knows what is in it, in milliseconds. */
const REFRESH_MS = 3000;

/** Shows changes as they come. @returns whether they do; null before that is known */
function useChanges(pages: Pages<ExecutionSummary>, query: Filters): boolean | null {
  const [isLive, setLive] = useState<boolean | null>(null);
  const latest = useRef({ pages, query });
  latest.current = { pages, query };
  useLayoutEffect(() => {
    const refresh = (): void => {
      latest.current.pages.refresh().catch(complain);
    };
    const refreshLater = gather<null>(() => "any", refresh, REFRESH_MS);
    const take = gather<ExecutionSummary>(
      ({ id }) => id,
      (changes) => {
        const { pages: shown, query: asked } = latest.current;
        if (!canDecide(asked)) return refreshLater(null);
        shown.change((items, isFirst) => withChanges(items, changes, asked, isFirst));
      },
    );
    const listeners = { execution: (data: unknown) => take(data as ExecutionSummary) };
    // What happened after the list was read and before the stream was open is told by nobody.
    const live = follow(["execution", "events"], listeners, refresh, setLive);
    return () => live.close();
  }, []);
  return isLive;
}

/** Rows that are there change in place; new ones come into the first page, newest first. */
function withChanges(
  items: readonly ExecutionSummary[],
  changes: readonly ExecutionSummary[],
  query: Filters,
  isFirstPage: boolean,
): readonly ExecutionSummary[] {
  const byId = new Map(changes.map((execution) => [execution.id, execution]));
  const here = new Set(items.map(({ id }) => id));
  const kept = items
    .map((item) => withChange(item, byId.get(item.id)))
    .filter((item) => !byId.has(item.id) || matches(item, query));
  if (!isFirstPage) return kept;
  const fresh = changes.filter((execution) => !here.has(execution.id) && matches(execution, query));
  return [...fresh, ...kept].sort((one, other) => (one.id < other.id ? 1 : -1));
}

/** What has ended stays so: the list may have been read after the change was told. */
function withChange(
  item: ExecutionSummary,
  change: ExecutionSummary | undefined,
): ExecutionSummary {
  if (change === undefined) return item;
  return isEnded(item.status) && !isEnded(change.status) ? item : change;
}
