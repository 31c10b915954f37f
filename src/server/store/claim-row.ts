import type { Selectable } from "kysely";
import type { ExecutionClaimTable } from "./schema.ts";

/** What only one execution may be started for, until it expires; see executions/claims.ts. */
export interface ClaimRow extends Omit<Selectable<ExecutionClaimTable>, "execution_key"> {
  /** The execution that counts no more: its claim may be taken before it expires. */
  readonly replaces?: string;
}
