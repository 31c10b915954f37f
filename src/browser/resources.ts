import type { Config } from "../shared/contract/config.ts";
import type * as execution from "../shared/contract/execution.ts";
import type * as flow from "../shared/contract/flow.ts";
import type { Grant as GrantOfRole } from "../shared/contract/permission.ts";
import type * as statistics from "../shared/contract/statistics.ts";
import type { AuthenticatedWebhook } from "../shared/contract/webhook.ts";
import type { Workspace as WorkspaceOfContract } from "../shared/contract/workspace.ts";

/** What the management API answers, as the contract has it: types alone, no schema comes along. */

/** With the key only in the answer that sets it. */
export type Webhook = AuthenticatedWebhook;

export type ExecutionSummary = execution.ExecutionSummary;
export type Execution = execution.Execution;
export type LogLine = execution.LogLine;

export type Flow = flow.Flow & Partial<Pick<flow.FlowWithSource, "source" | "input_schema">>;
export type FlowVersion = flow.FlowVersion;
export type Permissions = flow.Access;

export type Configuration = Config;
export type Workspace = WorkspaceOfContract;
export type Interval = statistics.Interval;
export type Statistics = statistics.Statistics;
export type Grant = GrantOfRole;

/** What choices are made of. */
export interface Named {
  readonly id?: string;
  readonly name: string;
}
