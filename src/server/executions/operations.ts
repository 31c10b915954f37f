import type { Permission } from "../../shared/contract/permission.ts";
import { isAllowed } from "../access/permission.ts";
import type { SecretBox } from "../access/secret-box.ts";
import type { Flow } from "../flows/catalog.ts";
import { now } from "../../shared/clock.ts";
import {
  MAX_SETTING_BYTES,
  type OperationAnswer,
  type OperationRequest,
} from "../../shared/wire/protocol.ts";
import type { Store } from "../store/store.ts";
import type { ExecutionRow } from "../store/execution-row.ts";
import { countAncestors } from "../store/executions.ts";
import { findSecret, findSetting, putSetting } from "../store/workspace.ts";
import type { ActiveExecution } from "./active.ts";
import type { Executions } from "./executions.ts";
import { toEndingText } from "./ending-text.ts";
import { toInput } from "./input.ts";
import { grantsOf } from "./permissions.ts";
import {
  countChild,
  OperationError,
  requireDeclared,
  requireFewAncestors,
  requireOther,
  requireSettingName,
  requireValue,
  type OperationLimits,
} from "./operation-checks.ts";
import { refuseOperation } from "./refused-operation.ts";
import type { StartRequest } from "./start-request.ts";
import { isCheckedAtOnce, type ValueJob } from "./value.ts";

/** What the operations of flows need (contract, section 5). */
export interface OperationsOptions {
  readonly store: Store;
  readonly executions: Pick<Executions, "start" | "find">;
  readonly findFlow: (name: string) => Promise<Flow | undefined>;
  readonly secrets: SecretBox;
  readonly limits: OperationLimits;
  /** `findValueFault` of what is large, elsewhere. */
  readonly checkLarge: (job: ValueJob) => Promise<string | null>;
}

/** Answers an operation that a running flow asked for; a refusal is an answer too. */
export async function operate(
  options: OperationsOptions,
  execution: ActiveExecution,
  request: OperationRequest,
): Promise<OperationAnswer> {
  try {
    return { ok: true, value: await perform(options, execution, request) };
  } catch (error) {
    return refuseOperation(request, error);
  }
}

/** A request came over the wall: its sender may be another than the flow, and its texts anything. */
async function perform(
  options: OperationsOptions,
  execution: ActiveExecution,
  request: OperationRequest,
): Promise<string> {
  const { row } = execution;
  const { operation, name, value } = request;
  switch (operation) {
    case "setting":
      return readSetting(options, row, name);
    case "set_setting":
      return writeSetting(options, row, name, value ?? "null");
    case "secret":
      return readSecret(options, { row, execution }, name);
    case "start_execution":
      return startChild(options, { row, execution }, request);
  }
}

/** @throws OperationError */
async function checkValue({ checkLarge }: OperationsOptions, job: ValueJob): Promise<void> {
  if (isCheckedAtOnce(job)) return requireValue(job);
  const error = await checkLarge(job);
  if (error !== null) throw new OperationError(error);
}

async function requirePermission(
  { store }: OperationsOptions,
  row: ExecutionRow,
  permission: Permission,
): Promise<void> {
  if (isAllowed(await grantsOf(store, row), permission, row.project_id)) return;
  const hint =
    row.role_id === null && row.acts_for === null
      ? "it was started without a role"
      : 'its role does not allow it, or has "propagate" unset';
  throw new OperationError(`The execution lacks the permission "${permission}": ${hint}`);
}

async function readSetting(
  options: OperationsOptions,
  row: ExecutionRow,
  name: string,
): Promise<string> {
  await requirePermission(options, row, "setting.read");
  return (await findSetting(options.store, name))?.value ?? "null";
}

async function writeSetting(
  options: OperationsOptions,
  row: ExecutionRow,
  name: string,
  value: string,
): Promise<string> {
  await requirePermission(options, row, "setting.write");
  requireSettingName(name);
  await checkValue(options, { text: value, mostBytes: MAX_SETTING_BYTES });
  const at = now();
  const setting = { name, value, created_at: at, modified_at: at };
  await options.store.commit([putSetting(options.store, setting)]);
  return "null";
}

/** Only a secret that the running version declared, and a role that may use secrets. */
async function readSecret(
  options: OperationsOptions,
  { row, execution }: { row: ExecutionRow; execution: ActiveExecution },
  name: string,
): Promise<string> {
  requireDeclared(execution.spec?.grants.secrets ?? [], name);
  await requirePermission(options, row, "secret.use");
  const secret = await findSecret(options.store, name);
  return JSON.stringify(secret === undefined ? null : options.secrets.open(name, secret.sealed));
}

/**
 * A child has its parent's permissions, project and mode.
 *
 * @returns JSON of its id, or of its ending where it is waited for
 */
async function startChild(
  options: OperationsOptions,
  { row, execution }: { row: ExecutionRow; execution: ActiveExecution },
  { name: flowName, value: input_value, wait }: OperationRequest,
): Promise<string> {
  await requirePermission(options, row, "execution.start");
  const flow = await options.findFlow(flowName);
  if (flow === undefined) throw new OperationError(`There is no flow "${flowName}"`);
  const mostBytes = options.limits.max_input_bytes;
  if (input_value !== null) await checkValue(options, { text: input_value, mostBytes });
  requireFewAncestors(await ancestorsOf(options, row), options.limits);
  if (wait) requireOther(waitingFlows(options, execution), flowName);
  // Its ending may have been decided meanwhile, and those that it started be looked for.
  if (execution.decided !== null) throw new OperationError("The execution has ended");
  countChild(execution, options.limits);
  const child = await startCounted(options, execution, {
    flowName,
    flow,
    webhook: null,
    input: toInput(input_value ?? undefined),
    is_productive: row.is_productive === 1,
    is_async: true,
    project_id: row.project_id,
    role_id: row.role_id,
    acts_for: row.acts_for,
    created_by: row.created_by,
    parent_id: row.id,
    replay_of: null,
    isConnection: false,
  });
  if (!wait) return JSON.stringify(child.id);
  child.isAwaited = true;
  return toEndingText(await child.ended);
}

/** The flow of an execution, and those of the ones that wait for it, one for the other. */
function* waitingFlows(
  { executions }: OperationsOptions,
  execution: ActiveExecution,
): Generator<string> {
  let one: ActiveExecution | undefined = execution;
  while (one !== undefined) {
    yield one.flow;
    one = one.isAwaited ? executions.find(one.row.parent_id ?? "") : undefined;
  }
}

async function ancestorsOf(
  { store }: OperationsOptions,
  { id, parent_id }: ExecutionRow,
): Promise<number> {
  return parent_id === null ? 0 : countAncestors(store, id);
}

/** One that was refused may be tried again. */
async function startCounted(
  { executions }: OperationsOptions,
  parent: ActiveExecution,
  request: StartRequest,
): Promise<ActiveExecution> {
  try {
    return await executions.start(request);
  } catch (error) {
    parent.children -= 1;
    throw error;
  }
}
