import { getAudit } from "./audit.ts";
import { getMe, login, logout } from "./auth.ts";
import { getBundle, getBundles } from "./bundle.ts";
import { cancelExecution, cancelExecutions } from "./cancel.ts";
import { getExecutionEvents, getExecutionsEvents } from "./events.ts";
import { getExecution, getExecutions, getLog } from "./execution.ts";
import { getExport } from "./export.ts";
import { getFlow, getFlows, reloadFlows, startFlow } from "./flow.ts";
import { importWebhooks } from "./import.ts";
import { getConfig } from "./config.ts";
import { createProject, getProject, getProjects, patchProject, removeProject } from "./project.ts";
import { describingRoutes } from "./reference.ts";
import { replayExecution } from "./replay.ts";
import { createRole, getRole, getRoles, patchRole, removeRole } from "./role.ts";
import { getFlowVersion } from "./flow-version.ts";
import type { Route } from "./route.ts";
import { createSecret, getSecret, getSecrets, patchSecret, removeSecret } from "./secret.ts";
import { createSetting, getSetting, getSettings, patchSetting, removeSetting } from "./setting.ts";
import { getStatistics } from "./statistics.ts";
import { getTokens, removeToken } from "./token.ts";
import { changePassword, createUser, getUser, getUsers, patchUser, removeUser } from "./user.ts";
import { waitExecution, waitOperation } from "./wait.ts";
import { authenticateWebhook } from "./webhook-authentication.ts";
import { getWebhookDocument } from "./webhook-document.ts";
import { getRefusals } from "./webhook-refusal.ts";
import { createWebhook, getWebhook, getWebhooks, patchWebhook, removeWebhook } from "./webhook.ts";
import { getWorkspace, reportActivity } from "./workspace.ts";

/** The management API's table of contents (contract, section 3). */
export const ROUTES: readonly Route[] = [
  ...describingRoutes(() => ROUTES),

  login,
  logout,
  getMe,
  changePassword,
  getTokens,
  removeToken,

  getWebhooks,
  createWebhook,
  getWebhook,
  patchWebhook,
  removeWebhook,
  authenticateWebhook,
  getRefusals,
  getWebhookDocument,
  getExport,
  importWebhooks,

  getFlows,
  reloadFlows,
  getFlow,
  getFlowVersion,
  startFlow,

  getExecutions,
  getExecutionsEvents,
  getExecution,
  getLog,
  getExecutionEvents,
  waitExecution,
  cancelExecutions,
  cancelExecution,
  replayExecution,
  getStatistics,

  getProjects,
  createProject,
  getProject,
  patchProject,
  removeProject,
  getBundles,
  getBundle,
  getRoles,
  createRole,
  getRole,
  patchRole,
  removeRole,
  getUsers,
  createUser,
  getUser,
  patchUser,
  removeUser,
  getSettings,
  createSetting,
  getSetting,
  patchSetting,
  removeSetting,
  getSecrets,
  createSecret,
  getSecret,
  patchSecret,
  removeSecret,

  getAudit,
  getConfig,
  getWorkspace,
  reportActivity,
  waitOperation,
];
