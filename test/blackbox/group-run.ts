import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { assertNotKept } from "./canary.ts";
import { follow, send, type Answer, type Call } from "./client.ts";
import { countException, exceptionReason, isOfOneNode } from "./exceptions.ts";
import { assertAnswer, assertForbidden, assertInput, assertMembers } from "./expectation.ts";
import {
  callTarget,
  countExecutions,
  endedExecution,
  executionId,
  isStory,
  type CallRow,
  type Group,
  type Row,
} from "./scenario.ts";
import { ADMIN_PASSWORD, startService, type Service } from "./service.ts";
import { openTarget } from "./target.ts";

/**
 * Registers groups of one configuration with node:test: their service starts once, and their rows run
 * in order. Each group has its own webhooks and secrets, which go with it.
 */
export function runGroups(groups: readonly [Group, ...Group[]]): void {
  const target = openTarget();
  const options = { skip: target.skip ?? false, concurrency: 1 };
  const [{ name }, ...others] = groups;
  const title = others.length === 0 ? name : `${name} and ${others.length} more`;
  describe(`${title} (${target.name})`, options, () => {
    let service: Service | undefined;
    before(async () => {
      service = await openService(groups);
    });
    for (const group of groups) describe(group.name, () => registerRows(group, () => service));
    test("the server is alive, and keeps no key, token or password", async () => {
      const running = started(service);
      service = undefined;
      await closeService(running, groups);
    });
    after(async () => {
      await service?.stop();
    });
  });
}

function registerRows(group: Group, opened: () => Service | undefined): void {
  before(() => furnish(started(opened()), group));
  for (const row of group.rows)
    test(row.name, (context) => runRow(context, group, row, started(opened())));
  after(() => clear(started(opened()), group));
}

function started(service: Service | undefined): Service {
  assert.ok(service !== undefined, "the service did not start");
  return service;
}

async function openService(groups: readonly [Group, ...Group[]]): Promise<Service> {
  const [first, ...others] = groups;
  for (const { config, env, prefix } of others)
    assert.deepEqual(
      { config, env, prefix },
      { config: first.config, env: first.env, prefix: first.prefix },
    );
  const flows = [...new Set(groups.flatMap((group) => group.flows ?? []))];
  const service = await startService({ ...first, flows });
  try {
    assertFlowsLoad(service);
  } catch (error) {
    await service.stop();
    throw error;
  }
  return service;
}

async function furnish(service: Service, group: Group): Promise<void> {
  for (const [name, value] of Object.entries(group.secrets ?? {})) {
    const made = await service.api("POST", "/secret", { name, value });
    assert.equal(made.status, 201, made.text);
  }
  for (const [name, { flow, ...options }] of Object.entries(group.webhooks ?? {})) {
    await service.createWebhook(name, flow, options);
  }
}

/** Its rows may have removed some themselves. */
async function clear(service: Service, group: Group): Promise<void> {
  const paths = [
    ...Object.keys(group.webhooks ?? {}).map((name) => `/webhook/${encodeURIComponent(name)}`),
    ...Object.keys(group.secrets ?? {}).map((name) => `/secret/${encodeURIComponent(name)}`),
  ];
  for (const path of paths) {
    const { status, text } = await service.api("DELETE", path);
    assert.ok(status === 204 || status === 404, text);
  }
}

/** A fixture that cannot be loaded would fail its rows one by one, each after a time-out. */
function assertFlowsLoad(service: Service): void {
  const broken = service
    .logs()
    .split("\n")
    .filter((line) => line.includes("Flow is broken"));
  assert.deepEqual(broken, [], "flows of the suite that cannot be loaded");
}

async function runRow(
  context: TestContext,
  group: Group,
  row: Row,
  service: Service,
): Promise<void> {
  const reason = exceptionReason(group.name, row.name, service.target.name);
  const printedBefore = service.logs().length;
  service.pin(isOfOneNode(group.name, row.name));
  const failure = await tryRow(service, row);
  if (reason !== null) {
    assert.notEqual(failure, null, `No longer an exception: remove the row from exceptions.ts`);
    countException(reason);
    context.diagnostic(`exception on ${service.target.name}: ${reason}`);
    return;
  }
  if (failure === null) return;
  context.diagnostic(`The service printed meanwhile:\n${service.logs().slice(printedBefore)}`);
  context.diagnostic(`The newest executions:\n${await newestExecutions(service)}`);
  throw failure.error;
}

async function newestExecutions(service: Service): Promise<string> {
  try {
    return (await service.api("GET", "/execution?limit=3")).text.slice(0, 4_000);
  } catch (error) {
    return `cannot be read: ${String(error)}`;
  }
}

async function tryRow(service: Service, row: Row): Promise<{ readonly error: unknown } | null> {
  try {
    await (isStory(row) ? row.run(service) : runCall(service, row));
    return null;
  } catch (error) {
    return { error };
  }
}

/** Makes one row's call and compares all that the row states. */
async function runCall(service: Service, row: CallRow): Promise<void> {
  const expectsNone = row.expect.execution === "none" || refuses(row);
  const before = expectsNone ? await known(service, row) : 0;
  const call = toCall(service, row);
  const first = row.follow === false ? await send(service.origin, call) : null;
  const chain = first === null ? await follow(service.origin, call) : null;
  const legs: readonly Answer[] = chain?.legs ?? (first === null ? [] : [first]);
  const answer = legs.at(-1);
  assert.ok(answer !== undefined);
  assertAnswer(answer, legs, row.expect);
  assertForbidden(legs, [service.token(), ADMIN_PASSWORD, ...(row.forbid ?? [])]);
  if (expectsNone) {
    assert.equal(await known(service, row), before, "a refused call records no execution");
    assert.equal(answer.headers["flowhook-execution-id"], undefined);
    assert.equal(answer.headers["cache-control"], "no-store");
  } else {
    await assertRecord(service, row, answer);
  }
}

function refuses(row: CallRow): boolean {
  if (row.expect.execution !== undefined || row.expect.input !== undefined) return false;
  return [row.expect.status].flat().every((status) => status >= 400 && status !== 500);
}

/** Executions of the row's webhook; an unknown webhook has none. */
function known(service: Service, row: CallRow): Promise<number> {
  return countExecutions(service, row.webhook);
}

function toCall(service: Service, row: CallRow): Call {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(row.headers ?? {})) {
    headers[name] = fill(service, value);
  }
  const { body } = row;
  const isData = typeof body === "object" && !(body instanceof Uint8Array);
  if (isData) headers["content-type"] ??= "application/json";
  return {
    method: row.method ?? (body === undefined ? "GET" : "POST"),
    target: fill(service, callTarget(service, row.webhook, row.path)),
    headers,
    body: body === undefined ? null : isData ? JSON.stringify(body) : body,
    chunked: row.chunked ?? false,
  };
}

function fill(service: Service, text: string): string {
  return text.replaceAll("<token>", service.token());
}

async function assertRecord(service: Service, row: CallRow, answer: Answer): Promise<void> {
  const { execution, input, log } = row.expect;
  if (execution === undefined && input === undefined && log === undefined) return;
  const id = executionId(answer);
  const record = await endedExecution(service, id);
  if (execution !== undefined && execution !== "none") {
    assertMembers(record, execution, "execution");
  }
  if (input !== undefined) assertInput(record, input);
  if (log !== undefined) {
    const lines = await service.api("GET", `/execution/${id}/log?limit=500`);
    assert.match(lines.text, log, "log of the execution");
  }
}

/** What a caller could use to get in: it must be nowhere once the service has stopped. */
function secrets(service: Service, groups: readonly Group[]): string[] {
  const webhooks = groups.flatMap((group) => Object.values(group.webhooks ?? {}));
  const keys = webhooks.map((webhook) => webhook.key ?? null);
  return [service.token(), ADMIN_PASSWORD, ...keys.filter((key) => key !== null)];
}

async function closeService(service: Service, groups: readonly Group[]): Promise<void> {
  try {
    await service.assertAlive();
  } finally {
    await service.stop({ keepFiles: true });
  }
  try {
    await assertNotKept(service, service.logs(), secrets(service, groups));
  } finally {
    await service.stop();
  }
}
