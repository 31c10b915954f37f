import type { TargetName } from "./target.ts";

export interface Exception {
  readonly group: string;
  readonly row: string;
  readonly targets: readonly TargetName[];
  readonly reason: string;
}

/**
 * Rows that cannot hold on a target. A row that stands here and passes anyway fails, so that
 * the list cannot grow old.
 */
export const EXCEPTIONS: readonly Exception[] = [];

/** Why a row need not hold on a target, or null where it must. */
export function exceptionReason(group: string, row: string, target: TargetName): string | null {
  const found = EXCEPTIONS.find(
    (exception) =>
      exception.group === group && exception.row === row && exception.targets.includes(target),
  );
  return found?.reason ?? null;
}

/** Rows about what each node keeps for itself: where there are several, one has all their connections. */
const OF_ONE_NODE: readonly (Pick<Exception, "group" | "reason"> & {
  readonly rows: readonly string[];
})[] = [
  {
    group: "queue",
    reason: "the queue of a node is its own",
    rows: [
      "beyond the queue's room a call is refused, and let in when there is room again",
      "a queued execution can be cancelled by a user",
    ],
  },
  {
    group: "input check",
    reason: "each node warns once for itself",
    rows: ["a later version without a schema runs, and is warned of once"],
  },
  {
    group: "input check",
    reason: "the checks of a node wait for each other alone",
    rows: ["what has waited for its check is matched once more behind it"],
  },
  {
    group: "signatures",
    reason: "the figures of a node are its own",
    rows: ["observe: what is wrong passes, is logged and counted; what is right is verified"],
  },
  {
    group: "doors without proxies",
    reason: "each node warns once for itself",
    rows: ["the log warns once for each webhook with addresses that a proxy calls"],
  },
];

export function isOfOneNode(group: string, row: string): boolean {
  return OF_ONE_NODE.some((one) => one.group === group && one.rows.includes(row));
}

const met: string[] = [];

export function countException(reason: string): void {
  met.push(reason);
}

/** One line for the end of a run. */
export function exceptionSummary(target: TargetName): string {
  const listed = EXCEPTIONS.filter((exception) => exception.targets.includes(target));
  return `${listed.length} exceptions on ${target}, ${met.length} met`;
}
