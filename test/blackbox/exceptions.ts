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

const met: string[] = [];

export function countException(reason: string): void {
  met.push(reason);
}

/** One line for the end of a run. */
export function exceptionSummary(target: TargetName): string {
  const listed = EXCEPTIONS.filter((exception) => exception.targets.includes(target));
  return `${listed.length} exceptions on ${target}, ${met.length} met`;
}
