import type { LimitedWebhook } from "./executions/webhook-queue.ts";
import { openActivity } from "./access/activity.ts";
import { openOwnCounts, openSharedCounts } from "./access/failure-counts.ts";
import { openLockout } from "./access/lockout.ts";
import { onceForRange, openAddressReader, openProxyTrust } from "./access/client-address.ts";
import { openSiteCheck } from "./access/credentials.ts";
import type { DataKey } from "./access/data-key.ts";
import { openLogins, type Logins } from "./access/login.ts";
import { networkOf } from "./access/network.ts";
import { openConnectionReader } from "./access/probe.ts";
import { openThrottle } from "./access/throttle.ts";
import type { SecretBox } from "./access/secret-box.ts";
import { openEventStreams } from "./api/event-streams.ts";
import { openLoginAudit } from "./api/login-audit.ts";
import { openExecutionFeed } from "./api/execution-feed.ts";
import type { Configuration } from "./config/load.ts";
import { nodeName, prefixOf, toMs, type Config } from "./config/resolve.ts";
import { Claims } from "./executions/claims.ts";
import type { Executions } from "./executions/executions.ts";
import type { Catalog } from "./flows/catalog.ts";
import { openBodies } from "./request/body.ts";
import { now } from "../shared/clock.ts";
import { HEARTBEAT_MS } from "../shared/contract/event-stream.ts";
import type { Log } from "../shared/log.ts";
import type { Meters } from "./metrics/meters.ts";
import type { Supervisor } from "./workers/supervisor.ts";
import type { AppDeps } from "./http/app.ts";
import type { Lease } from "./nodes/lease.ts";
import type { Store } from "./store/store.ts";
import { openInputCheck } from "./webhooks/input-check.ts";
import { openKeyUse } from "./webhooks/key-use.ts";
import { openForwardedWarning } from "./webhooks/forwarded.ts";
import { callModeOf } from "./webhooks/mode.ts";
import { openLegs } from "./webhooks/legs.ts";
import { openOwnRefusals, openSharedRefusals } from "./request/refused-calls.ts";
import { OwnRates, SharedRates } from "./webhooks/rate-limit.ts";
import { openSignatures } from "./webhooks/signatures.ts";
import type { WebhookRow } from "./store/webhooks.ts";
import type { Parser } from "./parser.ts";

/** What the service has opened. */
interface Parts {
  readonly config: Config;
  readonly configuration: Configuration;
  readonly dataKey: DataKey;
  readonly log: Log;
  readonly store: Store;
  readonly executions: Executions;
  readonly catalog: Catalog;
  readonly runners: Supervisor;
  readonly secrets: SecretBox;
  readonly parser: Parser;
  readonly defaultProjectId: string;
  readonly meters: Meters;
  readonly isReady: () => boolean;
  /** null: the store is this service's alone. */
  readonly lease: Lease | null;
}

/** Gives each part of the HTTP side what it uses, each value from the one place that knows it. */
export async function connect(parts: Parts): Promise<AppDeps> {
  const { config, log, store, executions, runners, meters } = parts;
  const access = await openAccess(parts);
  const shared = {
    ...access,
    ...toDefaults(config),
    store,
    log,
    executions,
    defaultProjectId: parts.defaultProjectId,
    bodies: openBodies(Math.max(BODIES * config.MAX_BODY_BYTES, LEAST_BUDGET), (incoming) =>
      networkOf(access.addressOf(incoming).address),
    ),
    meters,
    refusals: store.shared === null ? openOwnRefusals() : openSharedRefusals(store.shared),
    claims: new Claims(store),
    runnersStatus: () => runners.status(),
    permissionsOf: ({ role_id, created_by }: WebhookRow) => ({
      role_id,
      acts_for: config.EXECUTION_PERMISSIONS === "creator" ? created_by : null,
    }),
  };
  return {
    ...shared,
    calls: { ...shared, ...toCallParts(parts) },
    api: { ...shared, ...toApiParts(parts, access.logins) },
    ui: {
      ...shared,
      responseMatrix: config.RESPONSE_MATRIX,
      auditLogin: openLoginAudit({ store, log }),
    },
    monitoring: { ...shared, ...toMonitoringParts(parts) },
  };
}

/** What calls alone use. */
function toCallParts(parts: Parts) {
  const { config, log, store, executions, catalog, parser } = parts;
  return {
    signatures: openSignatures({
      ...parts,
      base_url: config.BASE_URL,
      verifyLarge: parser.verifyLarge,
    }),
    parseLarge: parser.parseLarge,
    findLarge: parser.findLarge,
    reportForwarded: openForwardedWarning(log, config.TRUSTED_PROXIES.length > 0),
    inputCheck: openInputCheck({ checkSchema: parser.checkSchema, log }),
    reportKeyUse: openKeyUse(store, log),
    legs: openLegs(parts.dataKey.derive("legs")),
    throttle: openThrottle({ free: 100, stepMs: 100, mostMs: 3000 }),
    findFlow: (name: string) => catalog.find(name),
    findFlowOrAsk: (name: string) => catalog.findOrAsk(name),
    requireRoom: (flow: string, webhook: LimitedWebhook) => executions.requireRoom(flow, webhook),
    rates: store.shared === null ? new OwnRates() : new SharedRates(store.shared),
    inactivityMs: toMs(config.DEVELOPMENT_INACTIVITY_SEC),
    sync_mode: config.SYNC_MODE,
    responseMatrix: config.RESPONSE_MATRIX,
    isCancelling: config.WEBHOOK_CANCEL_ENABLED,
    isLoginRedirect: config.LOGIN_REDIRECT,
  };
}

/** What the management API alone uses. */
function toApiParts(parts: Parts, logins: Logins) {
  const { config, configuration, store, executions, catalog, secrets, parser } = parts;
  return {
    configuration,
    catalog,
    secrets,
    pluginsDir: config.PLUGINS_DIR,
    nodeName: nodeName(config),
    startedAt: now(),
    callModeOf: (webhook: WebhookRow) =>
      callModeOf(webhook, {
        sync_mode: config.SYNC_MODE,
        responseMatrix: config.RESPONSE_MATRIX,
      }),
    largeBodies: parser.largeBodies,
    streams: openEventStreams({ logins, executions, heartbeatMs: HEARTBEAT_MS }),
    feed: openExecutionFeed({ store, logins, changes: executions.changes }),
  };
}

/** What health and metrics alone use. */
function toMonitoringParts({ catalog, configuration, isReady, lease }: Parts) {
  return {
    configValues: configuration.values,
    catalog,
    isReady,
    lease,
  };
}

function toDefaults(config: Config) {
  return {
    connectionAllowance: config.CONNECTION_ALLOWANCE,
    mostRunning: config.WORKER_THREADS,
    mostWaiting: config.MAX_QUEUED_EXECUTIONS,
    windowMs: toMs(config.WAIT_POLL_WINDOW_SEC),
    maxBodyBytes: config.MAX_BODY_BYTES,
    isSandboxed: config.RESPONSE_SANDBOX,
    base_url: config.BASE_URL,
    prefix: prefixOf(config),
  };
}

/**
 * Bodies that have not come to their end, together: so many of the largest size, or so many bytes
 * where that is more, which a machine with a gigabyte of memory can spare.
 */
const BODIES = 8;
const LEAST_BUDGET = 128 * 1024 * 1024;

const UNTRUSTED =
  "X-Forwarded-For came from a peer that is not in TRUSTED_PROXIES: everybody behind it counts as " +
  "one client. If it is your proxy, add it there";

const ATTEMPT_LIMITS = { free: 3, most: 10, mostOfAddress: 100, windowMs: 15 * 60 * 1000 };

/** Who asks, and how often they may be wrong. */
async function openAccess({ config, dataKey, log, store, meters }: Parts) {
  const activity = await openActivity(store);
  const counts =
    store.shared === null ? openOwnCounts(ATTEMPT_LIMITS) : openSharedCounts(store, ATTEMPT_LIMITS);
  const lockout = openLockout(ATTEMPT_LIMITS, counts);
  const ttlMs = toMs(config.LOGIN_TOKEN_TTL_SEC);
  const isTrusted = openProxyTrust(config.TRUSTED_PROXIES);
  const addressOf = openAddressReader(
    isTrusted,
    onceForRange((peer) => log.warn({ peer }, UNTRUSTED)),
  );
  const key = dataKey.derive("probes");
  return {
    activity,
    logins: openLogins({ store, lockout, activity, ttlMs, log, meters }),
    addressOf,
    isCrossSite: openSiteCheck(config.BASE_URL),
    readConnection: openConnectionReader({ key, isTrusted, addressOf }),
  };
}
