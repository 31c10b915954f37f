import { useLayoutEffect } from "hono/jsx/dom";
import { read, type List } from "./api.ts";
import { executionFiltersOfAddress, toQuery } from "./execution-query.ts";
import type { Filters } from "./filters.tsx";
import { onKeys } from "./keys.ts";
import { ListLink } from "./list-link.tsx";
import { useLoaded } from "./loaded.ts";
import { pagePath } from "./page.ts";
import type { ExecutionSummary } from "./resources.ts";

/** Executions that are read beside one: more begin hardly ever in one millisecond. */
const BESIDE = "100";

interface Beside {
  readonly newer: string | null;
  readonly older: string | null;
}

/** The executions before and after one, in the list that led to it: the address has its filters. */
export function Neighbours({ of }: { of: ExecutionSummary }) {
  const filters = executionFiltersOfAddress();
  const [beside] = useLoaded(() => readBeside(of, filters), [of.id]);
  const { newer = null, older = null } = beside ?? {};
  useLayoutEffect(
    () => onKeys({ j: () => go(older, filters), k: () => go(newer, filters) }),
    [newer, older],
  );
  const link = (id: string | null, text: string) =>
    id === null ? <span class="soft">{text}</span> : <a href={pathOf(id, filters)}>{text}</a>;
  return (
    <nav class="neighbours" aria-label="Executions beside this one">
      {link(newer, "Newer")}
      {link(older, "Older")}
      {Object.keys(filters).length === 0 ? null : (
        <ListLink list="executions" filtersOf={executionFiltersOfAddress}>
          Back to the list
        </ListLink>
      )}
    </nav>
  );
}

/** The page of an execution, which knows the filters of the list that it is in. */
export function pathOf(id: string, filters: Filters): string {
  const query = new URLSearchParams(filters);
  return pagePath("executions", id) + (query.size === 0 ? "" : `?${query}`);
}

function go(id: string | null, filters: Filters): void {
  if (id !== null) location.assign(pathOf(id, filters));
}

/** Identifiers grow with time, so that the nearest in the order of identifiers is beside it. */
async function readBeside({ id, created_at }: ExecutionSummary, filters: Filters): Promise<Beside> {
  const after = new Date(Date.parse(created_at) + 1).toISOString();
  const query = { ...toQuery(filters), limit: BESIDE };
  const [upwards, downwards] = await Promise.all([
    read<List<ExecutionSummary>>(["execution"], { ...query, order: "asc", from: created_at }),
    read<List<ExecutionSummary>>(["execution"], { ...query, order: "desc", to: after }),
  ]);
  return {
    newer: upwards.items.find((other) => other.id > id)?.id ?? null,
    older: downwards.items.find((other) => other.id < id)?.id ?? null,
  };
}
