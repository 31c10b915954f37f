import { isAllowed, type Permission } from "../access/permission.ts";
import type { SecretBox } from "../access/secret-box.ts";
import type { Flow } from "../flows/catalog.ts";
import { now } from "../lib/clock.ts";
import { findNameFault } from "../lib/resource-name.ts";
import type { OperationAnswer, OperationRequest } from "../runner/protocol.ts";
import type { Store } from "../store/database.ts";
import { findExecution, type ExecutionRow } from "../store/executions.ts";
import { findSecret, findSetting, putSetting } from "../store/workspace.ts";
import type { Executions } from "./executions.ts";
import { toInput } from "./input.ts";
import { grantsOf } from "./permissions.ts";

/** What the operations of flows need (contract, section 5). */
export interface OperationsOptions {
  readonly store: Store;
  readonly executions: Pick<Executions, "start" | "find">;
  readonly findFlow: (name: string) => Flow | undefined;
  readonly secrets: SecretBox;
}

/** What a flow sees thrown. */
class OperationFailure extends Error {}

/** Answers an operation that a running flow asked for; a refusal is an answer too. */
export async function operate(
  options: OperationsOptions,
  request: OperationRequest,
): Promise<OperationAnswer> {
  try {
    return { ok: true, value: await perform(options, request) };
  } catch (fault) {
    const message = fault instanceof Error ? fault.message : String(fault);
    return { ok: false, message: `Cannot ${request.name}: ${message}` };
  }
}

async function perform(options: OperationsOptions, request: OperationRequest): Promise<string> {
  const row = await findExecution(options.store, request.id);
  if (row === undefined || options.executions.find(request.id) === undefined)
    throw new OperationFailure("The execution has ended");
  const [name, value] = JSON.parse(request.args) as [string, unknown];
  switch (request.name) {
    case "setting":
      return readSetting(options, row, name);
    case "set_setting":
      return writeSetting(options, row, name, value);
    case "secret":
      return readSecret(options, row, name);
    case "start_execution":
      return startChild(options, row, name, value);
  }
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
  throw new OperationFailure(`The execution lacks the permission "${permission}": ${hint}`);
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
  value: unknown,
): Promise<string> {
  await requirePermission(options, row, "setting.write");
  const fault = typeof name === "string" ? findNameFault(name) : "a text";
  if (fault !== null) throw new OperationFailure(`As the name of a setting, expected ${fault}`);
  const at = now();
  const setting = { name, value: JSON.stringify(value ?? null), created_at: at, modified_at: at };
  await options.store.commit([putSetting(options.store, setting)]);
  return "null";
}

/** Only a secret that the running version declared, and a role that may use secrets. */
async function readSecret(
  options: OperationsOptions,
  row: ExecutionRow,
  name: string,
): Promise<string> {
  const declared = options.executions.find(row.id)?.spec?.grants.secrets ?? [];
  if (!declared.includes(name))
    throw new OperationFailure(
      `The flow does not declare it. Add permissions: { secrets: [${JSON.stringify(name)}] }`,
    );
  await requirePermission(options, row, "secret.use");
  const secret = await findSecret(options.store, name);
  return JSON.stringify(secret === undefined ? null : options.secrets.open(name, secret.sealed));
}

/** A child has its parent's permissions, project and mode; it is not waited for. */
async function startChild(
  options: OperationsOptions,
  row: ExecutionRow,
  flow_name: string,
  input_value: unknown,
): Promise<string> {
  await requirePermission(options, row, "execution.start");
  const flow = options.findFlow(flow_name);
  if (flow === undefined) throw new OperationFailure(`There is no flow "${flow_name}"`);
  const child = await options.executions.start({
    flow_name,
    flow,
    webhook: null,
    input: toInput(JSON.stringify(input_value ?? null)),
    is_productive: row.is_productive === 1,
    is_async: true,
    project_id: row.project_id,
    role_id: row.role_id,
    acts_for: row.acts_for,
    created_by: row.created_by,
    parent_id: row.id,
    replay_of: null,
    is_connection: false,
  });
  return JSON.stringify(child.id);
}
