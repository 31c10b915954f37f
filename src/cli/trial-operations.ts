import {
  countChild,
  OperationError,
  refuseOperation,
  requireDeclared,
  requireFewAncestors,
  requireOther,
  requireSettingName,
  requireValue,
  type OperationLimits,
} from "../server/executions/operation-checks.ts";
import { toEndingText, type Outcome } from "../server/executions/outcome.ts";
import type { Flow } from "../server/flows/catalog.ts";
import { toResourceName } from "../shared/resource-name.ts";
import {
  MAX_SETTING_BYTES,
  type OperationAnswer,
  type OperationRequest,
} from "../shared/wire/protocol.ts";

/** One execution of a test. */
export interface TrialExecution {
  readonly flow: Flow;
  /** The one that started it; null: the test did. */
  readonly parent: TrialExecution | null;
  /** Whether its parent waits for it. */
  readonly isAwaited: boolean;
  /** How many it has started. */
  children: number;
}

/** What surrounds the flows in a test. */
export interface TrialSurroundings {
  readonly secrets: Readonly<Record<string, string>>;
  /** JSON texts, by name; what the flow sets is here afterwards. */
  readonly settings: Map<string, string>;
  readonly limits: OperationLimits;
  find(name: string): Flow | undefined;
  start(
    execution: TrialExecution,
    input_value: string | null,
  ): { readonly id: string; readonly ended: Promise<Outcome> };
}

/** Answers an operation of a flow as the service does for a role that may do everything. */
export async function operateInTrial(
  surroundings: TrialSurroundings,
  execution: TrialExecution,
  asked: OperationRequest,
): Promise<OperationAnswer> {
  const request = { ...asked, name: toResourceName(asked.name) };
  try {
    return { ok: true, value: await perform(surroundings, execution, request) };
  } catch (error) {
    return refuseOperation(request, error);
  }
}

async function perform(
  surroundings: TrialSurroundings,
  execution: TrialExecution,
  request: OperationRequest,
): Promise<string> {
  const { secrets, settings } = surroundings;
  const { operation, name, value } = request;
  switch (operation) {
    case "setting":
      return settings.get(name) ?? "null";
    case "set_setting":
      requireSettingName(name);
      requireValue({ text: value ?? "null", mostBytes: MAX_SETTING_BYTES });
      settings.set(name, value ?? "null");
      return "null";
    case "secret":
      requireDeclared(execution.flow.spec?.grants.secrets ?? [], name);
      return JSON.stringify(Object.hasOwn(secrets, name) ? secrets[name] : null);
    case "start_execution":
      return startChild(surroundings, execution, request);
  }
}

async function startChild(
  { limits, find, start }: TrialSurroundings,
  parent: TrialExecution,
  { name, value, wait }: OperationRequest,
): Promise<string> {
  const flow = find(name);
  if (flow === undefined) throw new OperationError(`There is no flow "${name}"`);
  if (value !== null) requireValue({ text: value, mostBytes: limits.max_input_bytes });
  requireFewAncestors(ancestorsOf(parent), limits);
  if (wait) requireOther(waitingFlows(parent), name);
  countChild(parent, limits);
  const { id, ended } = start({ flow, parent, isAwaited: wait, children: 0 }, value);
  return wait ? toEndingText(await ended) : JSON.stringify(id);
}

/** How many led to an execution. */
export function ancestorsOf({ parent }: TrialExecution): number {
  return parent === null ? 0 : ancestorsOf(parent) + 1;
}

/** The flow of an execution, and those of the ones that wait for it, one for the other. */
function* waitingFlows({ flow, parent, isAwaited }: TrialExecution): Generator<string> {
  yield flow.name;
  if (isAwaited && parent !== null) yield* waitingFlows(parent);
}
