import type { GenericSchema } from "valibot";
import { AUDIT_ENTRY } from "../../shared/contract/audit-entry.ts";
import { BUNDLE } from "../../shared/contract/bundle.ts";
import { CONFIG } from "../../shared/contract/config.ts";
import { EXECUTION, EXECUTION_SUMMARY, LOG_LINE } from "../../shared/contract/execution.ts";
import { FLOW, FLOW_VERSION, FLOW_WITH_SOURCE } from "../../shared/contract/flow.ts";
import { LOGIN, ME } from "../../shared/contract/login.ts";
import { PROBLEM } from "../../shared/contract/problem.ts";
import { PROJECT } from "../../shared/contract/project.ts";
import { REFUSED_CALLS } from "../../shared/contract/refused-call.ts";
import { ROLE } from "../../shared/contract/role.ts";
import { SECRET } from "../../shared/contract/secret.ts";
import { SETTING } from "../../shared/contract/setting.ts";
import { STATISTICS } from "../../shared/contract/statistics.ts";
import { TOKEN } from "../../shared/contract/token.ts";
import { USER } from "../../shared/contract/user.ts";
import { IMPORTED } from "../../shared/contract/webhook-document.ts";
import { AUTHENTICATED_WEBHOOK, CREATED_WEBHOOK, WEBHOOK } from "../../shared/contract/webhook.ts";
import { WORKSPACE } from "../../shared/contract/workspace.ts";

/** The names under which the OpenAPI document has them. */
export const NAMED_SCHEMAS: Readonly<Record<string, GenericSchema>> = {
  AuditEntry: AUDIT_ENTRY,
  AuthenticatedWebhook: AUTHENTICATED_WEBHOOK,
  Bundle: BUNDLE,
  Config: CONFIG,
  Execution: EXECUTION,
  ExecutionSummary: EXECUTION_SUMMARY,
  Flow: FLOW,
  FlowVersion: FLOW_VERSION,
  FlowWithSource: FLOW_WITH_SOURCE,
  Imported: IMPORTED,
  LogLine: LOG_LINE,
  Login: LOGIN,
  Me: ME,
  NewWebhook: CREATED_WEBHOOK,
  Problem: PROBLEM,
  Project: PROJECT,
  RefusedCalls: REFUSED_CALLS,
  Role: ROLE,
  Secret: SECRET,
  Setting: SETTING,
  Statistics: STATISTICS,
  Token: TOKEN,
  User: USER,
  Webhook: WEBHOOK,
  Workspace: WORKSPACE,
};
