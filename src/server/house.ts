import { openActivity } from "./access/activity.ts";
import { openAttempts } from "./access/attempts.ts";
import { onceForRange, openAddressReader, openProxyTrust } from "./access/client-address.ts";
import { openDataKey } from "./access/data-key.ts";
import { openLogins } from "./access/login.ts";
import { networkOf } from "./access/network.ts";
import { openSlowDown } from "./access/slow-down.ts";
import type { SecretBox } from "./access/secret-box.ts";
import { openEventStreams } from "./api/event-streams.ts";
import { openExecutionFeed } from "./api/execution-feed.ts";
import { prefixOf, type Config } from "./config/resolve.ts";
import type { Executions } from "./executions/executions.ts";
import type { Catalog } from "./flows/catalog.ts";
import { openBodies } from "./request/body.ts";
import type { Log } from "../shared/log.ts";
import { openMeters } from "../shared/meters.ts";
import type { Runners } from "./workers/runners.ts";
import type { House } from "./http/app.ts";
import type { Store } from "./store/database.ts";
import { openKeyUse } from "./webhooks/key-use.ts";
import { openLegs } from "./webhooks/legs.ts";
import type { Parser } from "./parser.ts";

interface Rooms {
  readonly config: Config;
  readonly log: Log;
  readonly store: Store;
  readonly executions: Executions;
  readonly catalog: Catalog;
  readonly runners: Runners;
  readonly secrets: SecretBox;
  readonly parser: Parser;
  readonly default_project_id: string;
  readonly isReady: () => boolean;
}

/** What the doors see: each value from the one place that knows it. */
export async function toHouse(rooms: Rooms): Promise<House> {
  const { config, store, executions, catalog, runners } = rooms;
  const access = await openAccess(rooms);
  const { logins } = access;
  return {
    ...rooms,
    ...access,
    ...toSettings(config),
    parseLarge: rooms.parser.parseLarge,
    largeBodies: rooms.parser.largeBodies,
    bodies: openBodies(Math.max(BODIES * config.MAX_BODY_BYTES, LEAST_BUDGET), (incoming) =>
      networkOf(access.addressOf(incoming).address),
    ),
    streams: openEventStreams({ logins, executions }),
    feed: openExecutionFeed({ store, logins, changes: executions.changes }),
    reportKeyUse: openKeyUse(store, rooms.log),
    legs: openLegs(openDataKey(config.DATA_DIR).derive("legs")),
    findFlow: (name) => catalog.find(name),
    permissionsOf: ({ role_id, created_by }) => ({
      role_id,
      acts_for: config.EXECUTION_PERMISSIONS === "creator" ? created_by : null,
    }),
    requireRoom: (flow) => executions.requireRoom(flow),
    meters: openMeters(),
    runnersStatus: () => runners.status(),
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

/** Who asks, and how often they may be wrong. */
async function openAccess({ config, log, store }: Rooms) {
  const activity = await openActivity(store);
  const attempts = openAttempts({
    free: 3,
    most: 10,
    most_of_address: 100,
    window_ms: 15 * 60 * 1000,
  });
  const ttl_ms = config.LOGIN_TOKEN_TTL_SEC * 1000;
  return {
    activity,
    logins: openLogins({ store, attempts, activity, ttl_ms }),
    slowDown: openSlowDown({ free: 100, step_ms: 100, most_ms: 3000 }),
    addressOf: openAddressReader(
      openProxyTrust(config.TRUSTED_PROXIES),
      onceForRange((peer) => log.warn({ peer }, UNTRUSTED)),
    ),
  };
}

function toSettings(config: Config) {
  return {
    connection_allowance: config.CONNECTION_ALLOWANCE,
    inactivity_ms: config.DEVELOPMENT_INACTIVITY_SEC * 1000,
    max_body_bytes: config.MAX_BODY_BYTES,
    sync_mode: config.SYNC_MODE,
    response_matrix: config.RESPONSE_MATRIX,
    window_ms: config.WAIT_POLL_WINDOW_SEC * 1000,
    is_cancelling: config.WEBHOOK_CANCEL_ENABLED,
    is_login_redirect: config.LOGIN_REDIRECT,
    is_sandboxed: config.RESPONSE_SANDBOX,
    base_url: config.BASE_URL,
    prefix: prefixOf(config),
  };
}
