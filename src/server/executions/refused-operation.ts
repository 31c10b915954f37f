import type { OperationAnswer, OperationRequest } from "../../shared/wire/protocol.ts";

/** What an operation does with what is named, in words. */
const ACTS: Readonly<Record<OperationRequest["operation"], string>> = {
  setting: "read setting",
  set_setting: "write setting",
  secret: "read secret",
  start_execution: "start flow",
};

/** What a flow sees thrown where its operation failed. */
export function refuseOperation(
  { operation, name }: OperationRequest,
  error: unknown,
): OperationAnswer {
  const reason = error instanceof Error ? error.message : String(error);
  return { ok: false, message: `Cannot ${ACTS[operation]} "${name}": ${reason}` };
}
