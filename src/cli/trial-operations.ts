import { toEndingText } from "../server/executions/ending-text.ts";
import { refuseOperation } from "../server/executions/refused-operation.ts";
import type { Outcome } from "../server/executions/outcome.ts";
import type { OperationAnswer, OperationRequest } from "../shared/wire/protocol.ts";

/** What surrounds a flow in a test. */
export interface TrialSurroundings {
  /** Names of the secrets that the flow declares. */
  readonly declared: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  /** JSON texts, by name; what the flow sets is here afterwards. */
  readonly settings: Map<string, string>;
  /** @throws Error where the flow cannot be started */
  start(
    flow: string,
    input_value: string | null,
  ): { readonly id: string; readonly ended: Promise<Outcome> };
}

/** Answers the operations of a flow as the service does for a role that may do everything. */
export function openTrialOperations(
  surroundings: TrialSurroundings,
): (request: OperationRequest) => Promise<OperationAnswer> {
  return async (request) => {
    try {
      return { ok: true, value: await perform(surroundings, request) };
    } catch (error) {
      return refuseOperation(request, error);
    }
  };
}

async function perform(
  { declared, secrets, settings, start }: TrialSurroundings,
  { operation, name, value, wait }: OperationRequest,
): Promise<string> {
  switch (operation) {
    case "setting":
      return settings.get(name) ?? "null";
    case "set_setting":
      settings.set(name, value ?? "null");
      return "null";
    case "secret":
      if (declared.includes(name))
        return JSON.stringify(Object.hasOwn(secrets, name) ? secrets[name] : null);
      throw new Error(
        `The flow does not declare it. Add permissions: { secrets: [${JSON.stringify(name)}] }`,
      );
    case "start_execution": {
      const { id, ended } = start(name, value);
      return wait ? toEndingText(await ended) : JSON.stringify(id);
    }
  }
}
