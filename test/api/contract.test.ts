import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CONFIG_KEYS } from "../../src/server/config/schema.ts";
import { ERRORS } from "../../src/shared/contract/error.ts";
import { ROUTES } from "../../src/server/api/routes.ts";
import { ROOT } from "../blackbox/target.ts";
import { openTestService, type TestService } from "./test-service.ts";

/**
 * The contract's tables, and what is built, in both directions: nothing is missing, nothing is
 * there that the contract does not know. What each route needs is stated here once more, so that
 * a route cannot ask for less unnoticed.
 */

const ROUTE_TABLE = `
POST   /auth/login                        anyone
POST   /auth/logout                       login
GET    /auth/me                           login
PUT    /auth/password                     login
GET    /webhook                           webhook.read
POST   /webhook                           webhook.write
GET    /webhook/:name                     webhook.read
PATCH  /webhook/:name                     webhook.write
DELETE /webhook/:name                     webhook.write
PUT    /webhook/:name/authentication      webhook.authenticate
GET    /webhook/:name/refusal             webhook.read
GET    /webhook/:name/openapi.json        webhook.read
GET    /flow                              flow.read
GET    /flow/:name                        flow.read
GET    /flow/:name/version/:version       flow.read
POST   /flow/:name/execution              execution.start
POST   /flow/reload                       flow.reload
GET    /execution                         execution.read
GET    /execution/:id                     execution.read
GET    /execution/:id/log                 execution.read
POST   /execution/cancel                  execution.cancel
POST   /execution/:id/cancel              execution.cancel
POST   /execution/:id/replay              execution.start
GET    /execution/events                  execution.read
GET    /execution/:id/events              execution.read
GET    /statistics                        execution.read
GET    /token                             login
DELETE /token/:id                         login
GET    /execution/:id/wait                execution.read
GET    /:type/:id/wait-operation          login
GET    /project                           project.read
POST   /project                           project.write
GET    /project/:name                     project.read
PATCH  /project/:name                     project.write
DELETE /project/:name                     project.write
GET    /bundle                            bundle.read
GET    /bundle/:name                      bundle.read
GET    /role                              role.read
POST   /role                              role.write
GET    /role/:name                        role.read
PATCH  /role/:name                        role.write
DELETE /role/:name                        role.write
GET    /user                              user.read
POST   /user                              user.write
GET    /user/:name                        user.read
PATCH  /user/:name                        user.write
DELETE /user/:name                        user.write
GET    /setting                           setting.read
POST   /setting                           setting.write
GET    /setting/:name                     setting.read
PATCH  /setting/:name                     setting.write
DELETE /setting/:name                     setting.write
GET    /secret                            secret.write
POST   /secret                            secret.write
GET    /secret/:name                      secret.write
PATCH  /secret/:name                      secret.write
DELETE /secret/:name                      secret.write
GET    /audit                             audit.read
GET    /export                            webhook.read
POST   /import                            webhook.write
GET    /config                            config.read
GET    /workspace                         workspace.read
POST   /workspace/activity                login
GET    /openapi.json                      anyone
GET    /reference                         anyone
GET    /reference/:file                   anyone
`;

const CONFIG_TABLE = `
LISTEN_HOST LISTEN_PORT BASE_URL TRUSTED_PROXIES TLS_CERT_FILE TLS_KEY_FILE DATA_DIR DATABASE_URL DATABASE_CONNECTIONS DATA_KEY
NODE_NAME NODE_LEASE_SEC DURABILITY PLUGINS_DIR FLOWS_SHARED WAIT_POLL_WINDOW_SEC WEBHOOK_CANCEL_ENABLED SYNC_MODE RESPONSE_MATRIX
EXECUTION_PERMISSIONS LOGIN_REDIRECT DEVELOPMENT_INACTIVITY_SEC CONNECTION_ALLOWANCE WORKER_THREADS
FLOW_MAX_CONCURRENT WARM_THREADS MAX_QUEUED_EXECUTIONS MAX_CHILD_DEPTH MAX_CHILDREN FLOW_TIMEOUT_SEC FLOW_TIMEOUT_MAX_SEC
FLOW_MEMORY_MB RUNNER_MEMORY_MB CANCEL_GRACE_SEC ALLOW_NET ALLOW_READ ALLOW_WRITE MAX_BODY_BYTES
MAX_OUTPUT_BYTES MAX_LOG_LINES RETENTION_DAYS RETENTION_MAX_EXECUTIONS RETENTION_MAX_BYTES
RESPONSE_SANDBOX LOGIN_TOKEN_TTL_SEC SHUTDOWN_DELAY_SEC SHUTDOWN_GRACE_SEC LOG_LEVEL LOG_FORMAT LOG_CALLS LOG_MESSAGES METRICS_WEBHOOK_LABELS
`;

const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");

test("the routes are those of the contract, and need what it says", () => {
  const table = ROUTE_TABLE.trim()
    .split("\n")
    .map((line) => words(line).join(" "));
  const built = ROUTES.map(({ method, path, needs }) => `${method} ${path} ${needs}`);
  assert.deepEqual(built.toSorted(), table.toSorted());
});

test("the configuration keys are those of the contract", () => {
  assert.deepEqual([...CONFIG_KEYS].sort(), words(CONFIG_TABLE).sort());
});

test("the page of errors has a row for every code, and for no other", () => {
  const page = readFileSync(join(ROOT, "src/assets/docs/errors.md"), "utf8");
  const rows = [...page.matchAll(/^\| (\d{3}) \| `([a-z_]+)` \|/gm)];
  const documented = rows.map(([, status, code]) => `${code} ${status}`);
  const known = Object.entries(ERRORS).map(([code, { status }]) => `${code} ${status}`);
  assert.deepEqual(documented.toSorted(), known.toSorted());
});

let service: TestService;

before(async () => {
  service = await openTestService();
});

after(() => service[Symbol.asyncDispose]());

test("the health, the metrics and the stylesheet are at the root, for anyone", async () => {
  for (const path of ["/health/live", "/health/ready", "/metrics", "/default-styling.css"]) {
    assert.equal((await fetch(service.url + path)).status, 200, path);
    assert.equal((await fetch(`${service.url}/api/latest${path}`)).status, 404, path);
  }
});

test("what is there for GET alone says so to other methods", async () => {
  for (const [path, allow] of [
    ["/health/ready", "GET, HEAD"],
    ["/metrics", "GET, HEAD"],
    ["/default-styling.css", "GET, HEAD"],
    ["/ui/", "GET, HEAD"],
    ["/ui/login", "GET, HEAD, POST"],
  ] as const) {
    assert.equal((await fetch(service.url + path, { method: "HEAD" })).status, 200, path);
    const answer = await fetch(service.url + path, { method: "PUT" });
    assert.equal(answer.status, 405, path);
    assert.equal(answer.headers.get("allow"), allow, path);
    const { detail } = (await answer.json()) as { detail: string };
    assert.equal(detail, `Expected ${allow.replaceAll(", ", " or ")}, found PUT`);
  }
  assert.equal((await fetch(`${service.url}/nothing`, { method: "PUT" })).status, 404);
});
