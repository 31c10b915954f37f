import type { Selectable } from "kysely";
import type { ExecutionInputTable, ExecutionTable } from "./schema.ts";

/** The narrow part of an execution. Outside of the store its id alone tells it apart. */
export type ExecutionRow = Omit<Selectable<ExecutionTable>, "key" | "parent_key">;

/** What an execution receives. */
export type PayloadInput = Omit<Selectable<ExecutionInputTable>, "execution_key">;
