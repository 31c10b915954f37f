import * as first from "./0001-first.ts";
import * as keyUse from "./0002-key-use.ts";
import * as executionKey from "./0003-execution-key.ts";
import * as ledger from "./0004-ledger.ts";
import * as webhookMembers from "./0005-webhook-members.ts";
import * as permissions from "./0006-permissions.ts";
import * as webhookLimits from "./0007-webhook-limits.ts";
import * as cors from "./0008-cors.ts";
import * as inputCheck from "./0009-input-check.ts";
import * as executionFilters from "./0010-execution-filters.ts";
import * as auditChanges from "./0011-audit-changes.ts";
import * as rawBodyBytes from "./0012-raw-body-bytes.ts";
import * as nodes from "./0013-nodes.ts";
import * as shared from "./0014-shared.ts";
import * as sharedFlows from "./0015-shared-flows.ts";
import * as auditNode from "./0016-audit-node.ts";
import * as sharedLimits from "./0017-shared-limits.ts";
import * as executionNode from "./0018-execution-node.ts";
import * as waitingByWebhook from "./0019-waiting-by-webhook.ts";
import * as recordRows from "./0020-record-rows.ts";
import * as claimsAndFailures from "./0021-claims-and-failures.ts";
import type { Migration } from "./migration.ts";

/** In order. A static map, because a scan of a folder does not survive bundling. */
export const MIGRATIONS: ReadonlyMap<string, Migration> = new Map<string, Migration>([
  ["0001-first", first.up],
  ["0002-key-use", keyUse.up],
  ["0003-execution-key", executionKey.up],
  ["0004-ledger", ledger.up],
  ["0005-webhook-members", webhookMembers.up],
  ["0006-permissions", permissions.up],
  ["0007-webhook-limits", webhookLimits.up],
  ["0008-cors", cors.up],
  ["0009-input-check", inputCheck.up],
  ["0010-execution-filters", executionFilters.up],
  ["0011-audit-changes", auditChanges.up],
  ["0012-raw-body-bytes", rawBodyBytes.up],
  ["0013-nodes", nodes.up],
  ["0014-shared", shared.up],
  ["0015-shared-flows", sharedFlows.up],
  ["0016-audit-node", auditNode.up],
  ["0017-shared-limits", sharedLimits.up],
  ["0018-execution-node", executionNode.up],
  ["0019-waiting-by-webhook", waitingByWebhook.up],
  ["0020-record-rows", recordRows.up],
  ["0021-claims-and-failures", claimsAndFailures.up],
]);

/** Those that SQLite has no use for, and does not apply. */
export const POSTGRES_ONLY: ReadonlySet<string> = new Set([
  "0012-raw-body-bytes",
  "0013-nodes",
  "0014-shared",
  "0015-shared-flows",
  "0017-shared-limits",
  "0019-waiting-by-webhook",
  "0020-record-rows",
]);
