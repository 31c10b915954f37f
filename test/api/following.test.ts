import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { openGate } from "./gate.ts";
import { itemsOf, memberOf, openTestService, type TestService } from "./test-service.ts";
import { endedExecution, openWebhook } from "./running.ts";

const PACED = fileURLToPath(new URL("flows/paced.ts", import.meta.url));

let service: TestService;

before(async () => {
  service = await openTestService({
    flows: ["echo", "sleep"],
    plugins: [PACED],
    config: { WAIT_POLL_WINDOW_SEC: 0.2 },
  });
  await openWebhook(service, "paced", { flow: "paced" });
});

after(() => service[Symbol.asyncDispose]());

async function start(query: string): Promise<string> {
  const url = `${service.url}/api/latest/webhook/paced/call?async&${query}`;
  return (await fetch(url, { method: "POST" })).text();
}

interface Event {
  readonly event: string;
  readonly id: string | null;
  readonly data: { readonly [name: string]: unknown };
}

/** Opens a stream; its events up to the one that `isLast` finds, or to its end, are read later. */
async function follow(
  path: string,
  isLast: (event: Event) => boolean,
  headers: Record<string, string> = {},
): Promise<() => Promise<Event[]>> {
  const token = await service.login();
  const answer = await fetch(`${service.url}/api/latest${path}`, {
    headers: { "x-service-token": token, ...headers },
  });
  assert.equal(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
  return () => readEvents(answer, isLast);
}

async function readEvents(answer: Response, isLast: (event: Event) => boolean): Promise<Event[]> {
  const events: Event[] = [];
  let text = "";
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    for (const event of parts.flatMap(toEvent)) {
      events.push(event);
      if (isLast(event)) return events;
    }
  }
  return events;
}

function toEvent(part: string): Event[] {
  const fields = new Map(part.split("\n").map((line) => splitOnce(line)));
  const [event, data] = [fields.get("event"), fields.get("data")];
  if (event === undefined || data === undefined) return [];
  const parsed = JSON.parse(data) as Event["data"];
  return [{ event, id: fields.get("id") ?? null, data: parsed }];
}

function splitOnce(line: string): [string, string] {
  const at = line.indexOf(": ");
  return [line.slice(0, at), line.slice(at + 2)];
}

test("an execution is waited for: 302 to itself each window, then 200 with the record", async () => {
  await using gate = await openGate();
  const id = await start(`gate=${gate.url}`);
  await gate.arrived;
  for (const name of ["wait", "wait-operation"]) {
    const waiting = await service.want(302, "GET", `/execution/${id}/${name}`);
    assert.equal(waiting.headers.get("location"), `./${name}`);
    assert.equal(waiting.headers.get("cache-control"), "no-store");
  }
  gate.open();
  const ended = await endedExecution(service, id);
  assert.equal(memberOf(ended, "status"), "ENDED_SUCCESS");
  assert.equal(memberOf(ended, "output_value"), "through");
  await service.want(200, "GET", `/execution/${id}/wait-operation`);
});

test("a client that goes away while it waits here cancels nothing", async () => {
  await using gate = await openGate();
  const id = await start(`gate=${gate.url}`);
  await gate.arrived;
  const headers = { "x-service-token": await service.login() };
  const signal = AbortSignal.timeout(50);
  const url = `${service.url}/api/latest/execution/${id}/wait`;
  await assert.rejects(fetch(url, { headers, signal }));
  gate.open();
  assert.equal(memberOf(await endedExecution(service, id), "status"), "ENDED_SUCCESS");
});

test("HEAD tells of a stream, and opens none", async () => {
  const token = await service.user("looking", ["viewer"]);
  const url = `${service.url}/api/latest/execution/events`;
  for (let n = 0; n < 6; n += 1) {
    const { status } = await fetch(url, { method: "HEAD", headers: { "x-service-token": token } });
    assert.equal(status, 200);
  }
  await service.want(200, "GET", "/execution/events", { token });
});

test("every type can be waited for, and is answered as it is read", async () => {
  await service.want(201, "POST", "/setting", { body: { name: "awaited", value: 1 } });
  const paths = ["webhook/paced", "flow/paced", "setting/awaited", "role/admin", "user/admin"];
  for (const path of [...paths, "project/Default"]) {
    const read = await service.want(200, "GET", `/${path}`);
    const waited = await service.want(200, "GET", `/${path}/wait-operation`);
    assert.equal(waited.text, read.text, path);
  }
  await service.want(404, "GET", "/nothing/x/wait-operation");
  await service.want(404, "GET", "/webhook/nothing/wait-operation");
});

test("one execution is followed: states and log lines, and resumed after an event", async () => {
  await using gate = await openGate();
  const id = await start(`gate=${gate.url}`);
  await gate.arrived;
  const read = await follow(`/execution/${id}/events`, () => false);
  gate.open();
  const events = await read();
  const logs = events.filter(({ event }) => event === "log");
  assert.deepEqual(
    logs.map(({ data }) => [data["level"], data["text"]]),
    [
      ["info", "before the gate"],
      ["warn", "after the gate"],
    ],
  );
  const statuses = events
    .filter(({ event }) => event === "status")
    .map(({ data }) => data["status"]);
  assert.equal(statuses.at(-1), "ENDED_SUCCESS");
  assert.equal(events.at(-1)?.event, "status", "it ends with its execution");
  const resume = await follow(`/execution/${id}/events`, () => false, {
    "last-event-id": logs[0]!.id!,
  });
  const again = (await resume()).filter(({ event }) => event === "log");
  assert.deepEqual(again, [logs[1]]);
  const other = await follow(`/execution/${id}/events`, () => false, { "last-event-id": "1e300" });
  const all = (await other()).filter(({ event }) => event === "log");
  assert.deepEqual(all, logs, "what is no event of it");
});

test("one execution is followed whose starting request is over", async () => {
  const body = { input_value: { query: { ms: "700" } } };
  const { json } = await service.want(201, "POST", "/flow/sleep/execution", { body });
  const read = await follow(`/execution/${memberOf(json, "id")}/events`, () => false);
  assert.equal((await read()).at(-1)?.data["status"], "ENDED_SUCCESS");
});

test("executions are followed as they change, each as the list has it", async () => {
  await using gate = await openGate();
  let id = "";
  const read = await follow(
    "/execution/events",
    ({ data }) => data["id"] === id && data["status"] === "ENDED_ERROR",
  );
  id = await start(`gate=${gate.url}&fail`);
  await gate.arrived;
  gate.open();
  const last = (await read()).at(-1)!;
  const { json } = await service.want(200, "GET", "/execution?status=ENDED_ERROR&limit=1");
  assert.deepEqual(last.data, itemsOf(json)[0]);
});

test("a stream ends when the service stops", async () => {
  await using other = await openTestService();
  const headers = { "x-service-token": await other.login() };
  const answer = await fetch(`${other.url}/api/latest/execution/events`, { headers });
  const reader = answer.body!.getReader();
  await reader.read();
  const stopped = other.stop();
  for (let part = await reader.read(); !part.done; part = await reader.read());
  await stopped;
});

test("the log of an execution is read in pages, oldest first", async () => {
  const id = await start("");
  await endedExecution(service, id);
  const first = await service.want(200, "GET", `/execution/${id}/log?limit=1`);
  const next = memberOf(first.json, "next_cursor");
  const second = await service.want(200, "GET", `/execution/${id}/log?limit=1&cursor=${next}`);
  const texts = [first, second].map(({ json }) => itemsOf(json)[0]!["text"]);
  assert.deepEqual(texts, ["before the gate", "after the gate"]);
  assert.equal(memberOf(second.json, "next_cursor"), "null");
});

test("statistics count calls, failures and durations per interval and webhook", async () => {
  await using counted = await openTestService({ plugins: [PACED] });
  for (const name of ["one", "two"]) await openWebhook(counted, name, { flow: "paced" });
  const from = new Date().toISOString();
  for (const [name, query] of [
    ["one", ""],
    ["one", "fail"],
    ["one", "fail"],
    ["two", ""],
  ]) {
    const url = `${counted.url}/api/latest/webhook/${name}/call?async&${query}`;
    const id = await (await fetch(url, { method: "POST" })).text();
    await endedExecution(counted, id);
  }
  const to = new Date(Date.now() + 1000).toISOString();
  const range = `from=${from}&to=${to}&interval_sec=3600`;
  const all = itemsOf((await counted.want(200, "GET", `/statistics?${range}`)).json);
  const sum = (items: typeof all, member: string) =>
    items.reduce((total, item) => total + Number(item[member]), 0);
  assert.deepEqual([sum(all, "calls"), sum(all, "failures")], [4, 2]);
  const { json } = await counted.want(200, "GET", `/statistics?${range}&by=webhook`);
  const one = itemsOf(json).filter((item) => item["webhook"] === "one");
  assert.deepEqual([sum(one, "calls"), sum(one, "failures")], [3, 2]);
  for (const item of itemsOf(json)) {
    const [average, longest] = [Number(item["duration_avg_ms"]), Number(item["duration_max_ms"])];
    assert.ok(average > 0 && average <= longest && longest < 60_000);
  }
  const whole = await counted.want(
    200,
    "GET",
    `/statistics?from=${from}&to=${to}&interval_sec=all&by=webhook`,
  );
  assert.deepEqual(
    itemsOf(whole.json).map(({ at, webhook, calls }) => [at, webhook, calls]),
    [
      [from, "one", 3],
      [from, "two", 1],
    ],
    "one interval of the range for each webhook",
  );
  const none = await counted.want(200, "GET", "/statistics?from=2020-01-01&to=2020-01-02");
  assert.deepEqual(itemsOf(none.json), []);
  for (const bad of ["from=x", "by=role", "interval_sec=0", "from=2020-01-02&to=2020-01-01"])
    await counted.want(422, "GET", `/statistics?${bad}`);
  await counted.want(422, "GET", "/statistics?from=2020-01-01&to=2021-01-01&interval_sec=1");
});

test("an execution is cancelled once; then 409", async () => {
  await using gate = await openGate();
  const id = await start(`gate=${gate.url}`);
  await gate.arrived;
  const { json } = await service.want(200, "POST", `/execution/${id}/cancel`);
  assert.equal(memberOf(json, "status"), "ENDED_CANCELLED");
  assert.match(memberOf(json, "status_message"), /by the user admin/);
  const again = await service.want(409, "POST", `/execution/${id}/cancel`);
  assert.equal(again.code, "already_ended");
});
