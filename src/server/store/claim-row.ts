import type { Selectable } from "kysely";
import type { ExecutionClaimTable } from "./schema.ts";

/** What only one execution may be started for, until it expires; see executions/claims.ts. */
export type ClaimRow = Omit<Selectable<ExecutionClaimTable>, "execution_key">;
