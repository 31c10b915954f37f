import type { EndedStatus } from "../../shared/contract/status.ts";
import { findNameError, toResourceName } from "../../shared/resource-name.ts";
import type { OperationAnswer, OperationRequest } from "../../shared/wire/protocol.ts";
import type { ActiveExecution } from "./active.ts";
import { findValueError, type ValueJob } from "./value.ts";

/** What an operation of a flow is refused for, in a service and in a test alike. */

export interface OperationLimits {
  /** MAX_BODY_BYTES, for a child's input_value. */
  readonly max_input_bytes: number;
  /** MAX_CHILD_DEPTH: ancestors of one execution. */
  readonly maxChildDepth: number;
  /** MAX_CHILDREN: of one execution. */
  readonly maxChildren: number;
}

/** What a flow sees thrown. */
export class OperationError extends Error {}

/** @throws OperationError */
export function requireSettingName(name: string): void {
  const error = findNameError(name);
  if (error !== null) throw new OperationError(`As the name of a setting, expected ${error}`);
}

/** @throws OperationError */
export function requireValue(job: ValueJob): void {
  const error = findValueError(job);
  if (error !== null) throw new OperationError(error);
}

/** @throws OperationError where the running version does not declare the secret */
export function requireDeclared(declared: readonly string[], name: string): void {
  if (declared.some((one) => toResourceName(one) === name)) return;
  throw new OperationError(
    `The flow does not declare it. Add permissions: { secrets: [${JSON.stringify(name)}] }`,
  );
}

/**
 * A flow that starts itself would go on for ever (contract, section 7, number 1).
 *
 * @throws OperationError
 */
export function requireFewAncestors(ancestors: number, { maxChildDepth }: OperationLimits): void {
  if (ancestors < maxChildDepth) return;
  throw new OperationError(
    `${ancestors} executions led to this one, and one more is too many (MAX_CHILD_DEPTH)`,
  );
}

/**
 * Executions of one flow that wait for each other could hold all threads of that flow.
 *
 * @param waiting flows of the execution, and of those that wait for it
 * @throws OperationError
 */
export function requireOther(waiting: Iterable<string>, flow: string): void {
  for (const one of waiting)
    if (one === flow)
      throw new OperationError(
        `An execution of "${flow}" would wait for another one of it: start it without waiting`,
      );
}

/** @throws OperationError where it has started as many as it may */
export function countChild(parent: { children: number }, { maxChildren }: OperationLimits): void {
  if (parent.children >= maxChildren)
    throw new OperationError(
      `It has started ${maxChildren} executions, as many as one may (MAX_CHILDREN)`,
    );
  parent.children += 1;
}

/** What an operation does with what is named, in words. */
const ACTS: Readonly<Record<OperationRequest["operation"], string>> = {
  setting: "read setting",
  set_setting: "write setting",
  secret: "read secret",
  start_execution: "start flow",
};

/** After a cancel or a time-out its code still runs for a while. @throws OperationError */
export function requireUndecided({ decided }: Pick<ActiveExecution, "decided">): void {
  if (decided === null) return;
  const why = ENDED[decided.status] ?? "It has ended";
  throw new OperationError(`${why}: it starts no other any more`);
}

const ENDED: Partial<Record<EndedStatus, string>> = {
  ENDED_CANCELLED: "It was cancelled",
  ENDED_TIMEOUT: "Its time is over",
};

/** What a flow sees thrown where its operation failed. */
export function refuseOperation(
  { operation, name }: OperationRequest,
  error: unknown,
): OperationAnswer {
  const reason = error instanceof Error ? error.message : String(error);
  const what = `Cannot ${ACTS[operation]} "${name}": `;
  // A secret that cannot be opened says that itself.
  return { ok: false, message: reason.startsWith(what) ? reason : what + reason };
}
