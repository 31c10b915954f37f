import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openGate } from "./gate.ts";
import { openTestService, type TestService } from "./test-service.ts";
import { callWebhook, endedExecution, openWebhook, runWebhook } from "./running.ts";

const PACED = fileURLToPath(new URL("flows/paced.ts", import.meta.url));
const THROWS = fileURLToPath(new URL("flows/throws.ts", import.meta.url));
const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;

let service: TestService;

before(async () => {
  service = await openTestService({ plugins: [PACED], config: { CONNECTION_ALLOWANCE: 1000 } });
  await openWebhook(service, "paced", { flow: "paced" });
  await openWebhook(service, "echo", { flow: "echo" });
});

after(() => service[Symbol.asyncDispose]());

/** Every sample of the metrics, by its name with labels. */
async function readMetrics(): Promise<Map<string, number>> {
  const answer = await fetch(`${service.url}/metrics`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/);
  const lines = (await answer.text()).split("\n").filter((line) => line !== "" && line[0] !== "#");
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

async function callPaced(query: string, headers: Record<string, string> = {}): Promise<string> {
  const url = `${service.url}/api/latest/webhook/paced/call?async&${query}`;
  return (await fetch(url, { method: "POST", headers })).text();
}

test("calls are counted by webhook and class of status, refusals by code, names only if they exist", async () => {
  const before = await readMetrics();
  await runWebhook(service, "echo", {});
  assert.equal((await callWebhook(service, "made-up-by-a-caller")).status, 404);
  const large = "x".repeat(100);
  const bad = { method: "POST", body: large, headers: { "content-type": "text/csv" } };
  assert.equal((await fetch(`${service.url}/api/latest/webhook/echo/call`, bad)).status, 415);
  const after = await readMetrics();
  const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  assert.equal(grown('flowhook_calls_total{webhook="echo",status="2xx"}'), 1);
  assert.equal(grown('flowhook_calls_total{webhook="echo",status="4xx"}'), 1);
  assert.equal(grown('flowhook_calls_total{webhook="",status="4xx"}'), 1);
  assert.equal(grown('flowhook_refusals_total{code="not_found"}'), 1);
  assert.equal(grown('flowhook_refusals_total{code="unsupported_type"}'), 1);
  assert.equal(grown('flowhook_call_duration_seconds_count{webhook="echo"}'), 2);
  assert.ok(![...after.keys()].some((name) => name.includes("made-up")));
});

test("an enabled webhook has figures of zero before its first call, and one that is not has none", async () => {
  await openWebhook(service, "fresh", { flow: "echo" });
  await service.want(201, "POST", "/webhook", { body: { name: "asleep", flow: "echo" } });
  const names = [...(await readMetrics()).keys()];
  assert.deepEqual(
    names.filter((name) => name.includes('webhook="fresh"')),
    [
      ...["2xx", "3xx", "4xx", "5xx"].map(
        (status) => `flowhook_calls_total{webhook="fresh",status="${status}"}`,
      ),
      ...["ENDED_SUCCESS", "ENDED_ERROR", "ENDED_TIMEOUT", "ENDED_CANCELLED"].map(
        (status) => `flowhook_executions_ended_total{webhook="fresh",status="${status}"}`,
      ),
    ],
  );
  assert.ok(!names.some((name) => name.includes("asleep")));
});

test("a preflight that is allowed counts for its webhook, one that is not for none", async () => {
  const cors = { origins: ["https://shop.example"] };
  await openWebhook(service, "shop", { flow: "echo", cors });
  const before = await readMetrics();
  const ask = (origin: string): Promise<Response> =>
    fetch(`${service.url}/api/latest/webhook/shop/call`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
  assert.equal((await ask("https://shop.example")).status, 204);
  assert.equal((await ask("https://other.example")).status, 405);
  const after = await readMetrics();
  const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  assert.equal(grown('flowhook_calls_total{webhook="shop",status="2xx"}'), 1);
  assert.equal(grown('flowhook_calls_total{webhook="",status="2xx"}'), 0);
  assert.equal(grown('flowhook_calls_total{webhook="",status="4xx"}'), 1);
});

test("executions, threads, runners, commits and the allowance are read when they are asked for", async () => {
  await using gate = await openGate();
  const id = await callPaced(`gate=${gate.url}`);
  await gate.arrived;
  const during = await readMetrics();
  assert.equal(during.get("flowhook_executions_running"), 1);
  assert.equal(during.get("flowhook_executions_waiting"), 0);
  assert.ok(during.get("flowhook_runners")! >= 1);
  assert.equal(during.get("flowhook_runner_restarts_total"), 0);
  assert.equal(during.get("flowhook_connection_allowance"), 1000);
  gate.open();
  await endedExecution(service, id);
  await endedExecution(service, await callPaced("fail"));
  const after = await readMetrics();
  const grown = (name: string) => (after.get(name) ?? 0) - (during.get(name) ?? 0);
  assert.equal(grown('flowhook_executions_ended_total{webhook="paced",status="ENDED_SUCCESS"}'), 1);
  assert.equal(grown('flowhook_executions_ended_total{webhook="paced",status="ENDED_ERROR"}'), 1);
  for (const name of ["flowhook_execution_run_seconds", "flowhook_execution_wait_seconds"])
    assert.equal(grown(`${name}_count{webhook="paced"}`), 2, name);
  assert.equal(grown("flowhook_connections_used"), 1);
  assert.ok(grown("flowhook_store_commits_total") > 0);
  assert.ok(grown("flowhook_store_units_total") >= grown("flowhook_store_commits_total"));
  assert.ok(after.get("flowhook_runner_memory_bytes")! >= 0);
  assert.ok(after.get("process_resident_memory_bytes")! > 0);
});

test("a request has an id, its own or a new one, and every answer echoes it", async () => {
  for (const path of [
    "/api/latest/webhook/echo/call?async",
    "/api/latest/auth/me",
    "/health/live",
  ]) {
    const url = service.url + path;
    const own = await fetch(url, { headers: { "x-request-id": "from-a.proxy:1/2=3" } });
    assert.equal(own.headers.get("x-request-id"), "from-a.proxy:1/2=3", path);
    for (const id of ["", "with blanks", "x".repeat(129), "<script>"]) {
      const made = await fetch(url, { headers: { "x-request-id": id } });
      assert.match(made.headers.get("x-request-id")!, /^[0-9a-f-]{36}$/, path);
    }
  }
});

/** Lines of the log with a member. */
function linesWith(name: string, value: string): { [name: string]: unknown }[] {
  const lines = service
    .logs()
    .split("\n")
    .filter((line) => line.includes(value));
  const parsed = lines.map((line) => JSON.parse(line) as { [name: string]: unknown });
  return parsed.filter((line) => line[name] === value);
}

test("a refused call and a failed execution are logged with request, trace and execution", async () => {
  const headers = { "x-request-id": "refused-1", traceparent: TRACEPARENT };
  await callWebhook(service, "nothing", {}, headers);
  const [refused] = linesWith("request_id", "refused-1");
  assert.deepEqual(
    [refused?.["msg"], refused?.["code"], refused?.["trace_id"]],
    ["Call refused", "not_found", TRACE_ID],
  );
  const id = await callPaced("fail", { "x-request-id": "failed-1", traceparent: TRACEPARENT });
  const record = await endedExecution(service, id);
  const [failed] = linesWith("request_id", "failed-1");
  assert.deepEqual(
    [failed?.["execution"], failed?.["status"], failed?.["trace_id"]],
    [id, "ENDED_ERROR", TRACE_ID],
  );
  assert.deepEqual(
    [failed?.["level"], failed?.["webhook"], failed?.["flow"], failed?.["message"]],
    ["warn", "paced", "paced", "failed on demand"],
  );
  assert.match(String(failed?.["place"]), /^paced\.ts:\d+:\d+$/);
  for (const member of ["duration_ms", "wait_ms"])
    assert.ok(Number(failed?.[member]) >= 0 && Number(failed?.[member]) < 60_000, member);
  assert.match(String(failed?.["time"]), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const input = (record as { input_value: { headers: Record<string, string> } }).input_value;
  assert.equal(input.headers["traceparent"], TRACEPARENT, "it is passed on to the flow");
});

test("a success is logged at debug, and at info where LOG_CALLS says so", async () => {
  const id = await callPaced("", { "x-request-id": "succeeded-1" });
  await endedExecution(service, id);
  assert.deepEqual(linesWith("request_id", "succeeded-1"), []);
  await using loud = await openTestService({ config: { LOG_LEVEL: "debug" } });
  await openWebhook(loud, "echo", { flow: "echo" });
  const started = await callWebhook(loud, "echo", {}, { "x-request-id": "succeeded-2" });
  await endedExecution(loud, await started.text());
  assert.match(loud.logs(), /"debug".*"status":"ENDED_SUCCESS".*"request_id":"succeeded-2"/);
  await using calls = await openTestService({ config: { LOG_CALLS: true } });
  await openWebhook(calls, "echo", { flow: "echo" });
  const third = await callWebhook(calls, "echo", {}, { "x-request-id": "succeeded-3" });
  await endedExecution(calls, await third.text());
  assert.match(calls.logs(), /"info".*"status":"ENDED_SUCCESS".*"request_id":"succeeded-3"/);
});

test("a status message is one cut line in the log, and not there where LOG_MESSAGES is false", async () => {
  for (const hasMessages of [true, false]) {
    await using own = await openTestService({
      plugins: [THROWS],
      config: { LOG_MESSAGES: hasMessages },
    });
    await openWebhook(own, "throws", { flow: "throws" });
    const answer = await callWebhook(own, "throws", {}, {});
    await endedExecution(own, await answer.text());
    const [line = ""] = own
      .logs()
      .split("\n")
      .filter((text) => text.includes("Execution failed"));
    const { message } = JSON.parse(line) as { message?: string };
    if (!hasMessages) assert.equal(message, undefined);
    else assert.match(message ?? "", /^two\\u000alines \\u001b\[31m x{200,290}\.\.\.$/);
    assert.ok(line.length < 1000);
  }
});

test("a traceparent that is not valid is no trace", async () => {
  const bad = [
    `00-${"0".repeat(32)}-00f067aa0ba902b7-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `ff-${TRACE_ID}-00f067aa0ba902b7-01`,
    `${TRACEPARENT}-more`,
    TRACEPARENT.toUpperCase(),
    "nonsense",
  ];
  for (const [at, traceparent] of bad.entries()) {
    await callWebhook(service, "nothing", {}, { "x-request-id": `bad-${at}`, traceparent });
    assert.equal(linesWith("request_id", `bad-${at}`)[0]?.["trace_id"], null, traceparent);
  }
});
