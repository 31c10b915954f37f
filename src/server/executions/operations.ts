import type { Permission } from "../../shared/contract/permission.ts";
import { isAllowed } from "../access/permission.ts";
import type { SecretBox } from "../access/secret-box.ts";
import type { Flow } from "../flows/catalog.ts";
import { now } from "../../shared/clock.ts";
import { toResourceName } from "../../shared/resource-name.ts";
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
import { toInput } from "./input.ts";
import { toEndingText } from "./outcome.ts";
import { grantsOf } from "./permissions.ts";
import {
  countChild,
  OperationError,
  refuseOperation,
  requireDeclared,
  requireFewAncestors,
  requireOther,
  requireSettingName,
  requireUndecided,
  requireValue,
  type OperationLimits,
} from "./operation-checks.ts";
import { isCheckedAtOnce, type ValueJob } from "./value.ts";

/** What the operations of flows need (contract, section 5). */
export interface OperationsOptions {
  readonly store: Store;
  readonly executions: Pick<Executions, "start" | "find" | "endingOf">;
  readonly findFlow: (name: string) => Promise<Flow | undefined>;
  readonly secrets: SecretBox;
  readonly limits: OperationLimits;
  /** `findValueError` of what is large, elsewhere. */
  readonly checkLarge: (job: ValueJob) => Promise<string | null>;
}

/** Answers what running flows ask for; a refusal is an answer too. */
export class Operations {
  readonly #options: OperationsOptions;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  async answer(execution: ActiveExecution, asked: OperationRequest): Promise<OperationAnswer> {
    const request = { ...asked, name: toResourceName(asked.name) };
    try {
      return { ok: true, value: await this.#perform(execution, request) };
    } catch (error) {
      return refuseOperation(request, error);
    }
  }

  /** A request came over the wall: its sender may be another than the flow, and its texts anything. */
  #perform(execution: ActiveExecution, request: OperationRequest): Promise<string> {
    switch (request.operation) {
      case "setting":
        return this.#readSetting(execution, request);
      case "set_setting":
        return this.#writeSetting(execution, request);
      case "secret":
        return this.#readSecret(execution, request);
      case "start_execution":
        return this.#startChild(execution, request);
    }
  }

  async #readSetting({ row }: ActiveExecution, { name }: OperationRequest): Promise<string> {
    await this.#requirePermission(row, "setting.read");
    return (await findSetting(this.#options.store, name))?.value ?? "null";
  }

  async #writeSetting({ row }: ActiveExecution, request: OperationRequest): Promise<string> {
    const { store } = this.#options;
    const { name } = request;
    const value = request.value ?? "null";
    await this.#requirePermission(row, "setting.write");
    requireSettingName(name);
    await this.#checkValue({ text: value, mostBytes: MAX_SETTING_BYTES });
    const at = now();
    await store.commit([putSetting({ name, value, created_at: at, modified_at: at })]);
    return "null";
  }

  /** Only a secret that the running version declared, and a role that may use secrets. */
  async #readSecret({ row, spec }: ActiveExecution, { name }: OperationRequest): Promise<string> {
    const { store, secrets } = this.#options;
    requireDeclared(spec?.grants.secrets ?? [], name);
    await this.#requirePermission(row, "secret.use");
    const secret = await findSecret(store, name);
    return JSON.stringify(secret === undefined ? null : secrets.open(name, secret.sealed));
  }

  /**
   * A child has its parent's permissions, project and mode.
   *
   * @returns JSON of its id, or of its ending where it is waited for
   */
  async #startChild(
    execution: ActiveExecution,
    { name: flowName, value: input_value, wait }: OperationRequest,
  ): Promise<string> {
    const { store, executions, findFlow, limits } = this.#options;
    const { row } = execution;
    await this.#requirePermission(row, "execution.start");
    const flow = await findFlow(flowName);
    if (flow === undefined) throw new OperationError(`There is no flow "${flowName}"`);
    if (input_value !== null)
      await this.#checkValue({ text: input_value, mostBytes: limits.max_input_bytes });
    const ancestors = row.parent_id === null ? 0 : await countAncestors(store, row.id);
    requireFewAncestors(ancestors, limits);
    if (wait) requireOther(this.#waitingFlows(execution), flowName);
    // Its ending may have been decided meanwhile, and those that it started be looked for.
    requireUndecided(execution);
    countChild(execution, limits);
    const started = this.#options.executions.start({
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
      isAwaited: wait,
      replay_of: null,
      isConnection: false,
    });
    const child = await started.catch((error: unknown) => {
      // One that was refused may be tried again.
      execution.children -= 1;
      throw error;
    });
    if (!wait) return JSON.stringify(child.id);
    return toEndingText(await executions.endingOf(child, execution));
  }

  /** The flow of an execution, and those of the ones that wait for it, one for the other. */
  *#waitingFlows(execution: ActiveExecution): Generator<string> {
    let one: ActiveExecution | undefined = execution;
    while (one !== undefined) {
      yield one.flow;
      one = one.isAwaited ? this.#options.executions.find(one.row.parent_id ?? "") : undefined;
    }
  }

  /** @throws OperationError */
  async #checkValue(job: ValueJob): Promise<void> {
    if (isCheckedAtOnce(job)) return requireValue(job);
    const error = await this.#options.checkLarge(job);
    if (error !== null) throw new OperationError(error);
  }

  /** @throws OperationError */
  async #requirePermission(row: ExecutionRow, permission: Permission): Promise<void> {
    const grants = await grantsOf(this.#options.store, row);
    const isOfSettings = permission.startsWith("setting.");
    // Settings are in no project, so a grant for the execution's does not reach them.
    if (isAllowed(grants, permission, isOfSettings ? undefined : row.project_id)) return;
    const where = isOfSettings ? " for all projects" : "";
    const hint =
      row.role_id === null && row.acts_for === null
        ? "it was started without a role"
        : `its role does not allow it${where}, or has "propagate" unset`;
    throw new OperationError(`The execution lacks the permission "${permission}": ${hint}`);
  }
}
