import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { poll, readExecution } from "../blackbox/scenario.ts";
import { openTarget } from "../blackbox/target.ts";
import { all, openSession, type Session } from "./session.ts";

const FLOWS = {
  "echo.ts":
    "export default async (flow) => { flow.log.warn('seen'); return flow.input_value; };\n",
  "fail.ts": "export default async () => { throw new Error('no more lamps'); };\n",
  "shaped.ts":
    "export default async (flow) => { flow.webhook_json_response({ reserved: 'lamp' }); " +
    "if (flow.input_value.query.fail) throw new Error('no more\\u001b[2J lamps'); };\n",
  "parent.ts": "export default async (flow) => flow.start_execution('wait', {});\n",
  "wait.ts":
    "export default (flow) => new Promise((resolve) => " +
    "flow.signal.addEventListener('abort', () => resolve(null)));\n",
};

/** After all that these tests start. */
const LATE = "2100-01-01T00:00:00Z";

describe("execution", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  before(async () => {
    session = await openSession(FLOWS);
  });
  after(() => session[Symbol.asyncDispose]());

  async function start(flow: string, input_value: unknown): Promise<string> {
    const { body } = await session.service.api("POST", `/flow/${flow}/execution`, { input_value });
    return (body as { id: string }).id;
  }

  async function startAndWait(flow: string, input_value: unknown): Promise<string> {
    const id = await start(flow, input_value);
    const { status } = await session.service.api("GET", `/execution/${id}/wait`);
    assert.equal(status, 200);
    return id;
  }

  test("list: says how to start the first one", async () => {
    const { code, stdout } = await session.run(["execution", "list"]);
    assert.equal(code, 0);
    assert.match(stdout, /^No executions yet\. .*flowhook call/);
    const json = await session.run(["execution", "list", "--json"]);
    assert.deepEqual(JSON.parse(json.stdout), []);
  });

  test("list: filters, limit and order", async () => {
    const first = await startAndWait("echo", 1);
    const failed = await startAndWait("fail", 2);
    const last = await startAndWait("echo", 3);
    const ids = async (...args: string[]) => {
      const finished = await session.run(["execution", "list", "--json", ...args]);
      assert.equal(finished.code, 0, all(finished));
      return (JSON.parse(finished.stdout) as { id: string }[]).map(({ id }) => id);
    };
    assert.deepEqual(await ids(), [last, failed, first]);
    assert.deepEqual(await ids("--limit", "1"), [last]);
    assert.deepEqual(await ids("--flow", "echo", "--oldest-first"), [first, last]);
    assert.deepEqual(await ids("--status", "ended_error"), [failed]);
    assert.deepEqual(await ids("--status", "ENDED_ERROR,ENDED_SUCCESS"), [last, failed, first]);
    assert.deepEqual(await ids("--from", "2100-01-01T00:00:00Z"), []);
    assert.deepEqual(await ids("--to", "2100-01-01T00:00:00Z", "--text", "lamps"), [failed]);
    assert.deepEqual(await ids("--project", "Default", "--flow", "fail"), [failed]);
    const table = await session.run(["execution", "list", "--status", "ENDED_ERROR"]);
    assert.match(
      table.stdout,
      new RegExp(`^${failed} +ENDED_ERROR +- +fail .*no more lamps$`, "m"),
    );
    const none = await session.run(["execution", "list", "--webhook", "nothing"]);
    assert.equal(none.stdout, "No execution matches\n");
  });

  test("list: wrong filters are refused in words", async () => {
    const status = await session.run(["execution", "list", "--status", "DONE"]);
    assert.equal(status.code, 1);
    assert.match(
      status.stderr,
      /^status.*: expected one .*PENDING.*ENDED_CANCELLED, found "DONE"\n$/,
    );
    const limit = await session.run(["execution", "list", "--limit", "none"]);
    assert.equal(limit.code, 2);
    assert.match(limit.stderr, /"none", expected a whole number/);
    const project = await session.run(["execution", "list", "--project", "none"]);
    assert.deepEqual([project.code, project.stderr], [1, 'There is no project "none"\n']);
  });

  test("show: summary, input, output and log", async () => {
    const id = await startAndWait("echo", { a: "\u001b[2J" });
    const { code, stdout } = await session.run(["execution", "show", id, "--log"]);
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`^id +${id}$`, "m"));
    assert.match(stdout, /^status +ENDED_SUCCESS$/m);
    assert.match(stdout, /^took +\d+ ms$|^took +\d+\.\d s$/m);
    assert.match(stdout, /^input_value\n\{\n/m);
    assert.match(stdout, /^output_value\n\{\n/m);
    assert.match(stdout, /warn +seen/);
    assert.doesNotMatch(stdout, /\u001b|Its log has more/);
    const json = await session.run(["execution", "show", id, "--log", "--json"]);
    const record = JSON.parse(json.stdout) as { output_value: unknown; log: { text: string }[] };
    assert.deepEqual(record.output_value, { a: "\u001b[2J" });
    assert.deepEqual(
      record.log.map(({ text }) => text),
      ["seen"],
    );
  });

  test("show: where a flow failed is in the log, which it names", async () => {
    const id = await startAndWait("fail", null);
    const { stdout } = await session.run(["execution", "show", id]);
    assert.ok(stdout.endsWith(`\nIts log has more: flowhook execution show ${id} --log\n`), stdout);
    const whole = await session.run(["execution", "show", id, "--log"]);
    assert.match(whole.stdout, /no more lamps\n +at .*fail\.ts:1:/);
    assert.doesNotMatch(whole.stdout, /Its log has more/);
  });

  test("8: show: a response that was not sent, and why", async () => {
    await session.service.createWebhook("shaped", "shaped");
    const shown = async (id: string): Promise<string> => {
      const { stdout } = await session.run(["execution", "show", id]);
      assert.match(stdout, /^response\n[^]*"status": 200/m);
      return /^response\n(Not sent.*)?/m.exec(stdout)?.[1] ?? "";
    };
    const call = async (query: string): Promise<string> => {
      const answer = await fetch(`${session.service.url}/api/latest/webhook/shaped/call?${query}`);
      const id = answer.headers.get("flowhook-execution-id") ?? "";
      await session.service.api("GET", `/execution/${id}/wait`);
      return id;
    };
    const failed = await call("fail=1");
    assert.equal(
      await shown(failed),
      "Not sent: the caller got 500 ENDED_ERROR: no more [2J lamps",
    );
    assert.equal(await shown(await call("async&fail=1")), "Not sent: the call was asynchronous");
    assert.equal(await shown(await call("async")), "Not sent: the call was asynchronous");
    assert.equal(await shown(await call("")), "");
    const started = await startAndWait("shaped", { query: {} });
    assert.equal(await shown(started), "Not sent: the execution was not started by a call");
    const json = await session.run(["execution", "show", failed, "--json"]);
    assert.equal(
      (JSON.parse(json.stdout) as { response: { status: number } }).response.status,
      200,
    );
  });

  test("cancel: once", async () => {
    const id = await start("wait", null);
    const first = await session.run(["execution", "cancel", id]);
    assert.deepEqual([first.code, first.stdout], [0, `Cancelled ${id}\n`], all(first));
    const second = await session.run(["execution", "cancel", id]);
    assert.equal(second.code, 1);
    assert.match(second.stderr, /ENDED_CANCELLED/);
  });

  test("H5: cancel: all that fit a filter, and nothing else", async () => {
    await session.service.createWebhook("waits", "wait");
    const called = await fetch(`${session.service.url}/api/latest/webhook/waits/call?async`);
    await called.text();
    const parent = await startAndWait("parent", null);
    const rest = [await start("wait", 1), await start("wait", 2)];
    const cancelled = async (...args: string[]) => {
      const finished = await session.run(["execution", "cancel", ...args]);
      assert.equal(finished.code, 0, all(finished));
      return finished.stdout;
    };
    const none = "Cancelled none: no execution that has not ended matches\n";
    assert.equal(await cancelled("--flow", "nothing"), none);
    assert.equal(await cancelled("--webhook", "waits", "--flow", "echo"), none);
    assert.equal(await cancelled("--webhook", "waits"), "Cancelled 1 execution\n");
    assert.equal(await cancelled("--webhook", "waits"), none);
    assert.equal(await cancelled("--parent", parent), "Cancelled 1 execution\n");
    for (const id of rest)
      await poll("it to run", async () =>
        (await readExecution(session.service, id))["status"] === "RUNNING" ? true : null,
      );
    const status = ["--status", "running"];
    const both = await cancelled("--flow", "wait", ...status, "--json");
    assert.deepEqual(JSON.parse(both), { matched: 2, cancelled: 2 });
    assert.deepEqual(JSON.parse(await cancelled("--flow", "wait", "--json")), {
      matched: 0,
      cancelled: 0,
    });
  });

  test("H5: cancel: what does not say which executions is refused, and cancels none", async () => {
    const id = await start("wait", null);
    const names = "--status, --webhook, --flow or --parent";
    const none = await session.run(["execution", "cancel"]);
    const expected = `Which executions? Expected an id, or at least one of ${names}\n`;
    assert.deepEqual([none.code, none.stderr], [2, expected]);
    for (const option of ["--status", "--webhook", "--flow", "--parent"]) {
      const both = await session.run(["execution", "cancel", id, option, "wait"]);
      const said = `Found an id and options. Give the id alone, or only ${names}\n`;
      assert.deepEqual([both.code, both.stderr], [2, said], option);
      const empty = await session.run(["execution", "cancel", option, ""]);
      assert.doesNotMatch(empty.stdout, /^Cancelled \d/, option);
    }
    const ended = await session.run(["execution", "cancel", "--status", "ENDED_SUCCESS"]);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /status.*: expected PENDING or RUNNING/);
    const { stdout } = await session.run(["execution", "cancel", id, "--json"]);
    assert.equal((JSON.parse(stdout) as { status: string }).status, "ENDED_CANCELLED");
  });

  test("replay: with the same input, or another", async () => {
    const id = await startAndWait("echo", { a: 1 });
    const same = await session.run(["execution", "replay", id]);
    assert.equal(same.code, 0, all(same));
    assert.deepEqual(await outputOf(same.stdout.trim()), { a: 1 });
    const other = await session.run(["execution", "replay", id, "--input", "-"], { input: "[2]" });
    assert.deepEqual(await outputOf(other.stdout.trim()), [2]);
    const given = await session.run(["execution", "replay", id, "--input", '{"query":{}}']);
    const whole = { method: "GET", path: null, headers: {}, query: {} };
    assert.deepEqual(await outputOf(given.stdout.trim()), whole);
    const json = await session.run(["execution", "replay", id, "--json"]);
    const { id: started } = JSON.parse(json.stdout) as { id: string };
    assert.deepEqual(await outputOf(started), { a: 1 });
    const version = await session.run(["execution", "replay", id, "--flow-version", "none"]);
    assert.equal(version.code, 1);
    assert.match(version.stderr, /flow_version: version "none" of "echo" is not kept/);
  });

  test("replay: all that fit, oldest first, and each once", async () => {
    await session.service.createWebhook("sixty", "fail");
    const failed = await fail("sixty", 60);
    const first = await session.run(["execution", "replay", "--webhook", "sixty", "--limit", "2"]);
    const left = "Run again: 2 executions; 58 are left: give the command again\n";
    assert.equal(first.stderr, left);
    await untilEnded(first.stdout.trim().split("\n"));
    const second = await session.run(["execution", "replay", "--webhook", "sixty", "--json"]);
    assert.equal(
      second.stderr,
      `Run again: 58 executions; 2 have a replay already, 2 of which failed: run those again by --flow fail\n`,
    );
    const rest = (JSON.parse(second.stdout) as { id: string }[]).map(({ id }) => id);
    const replays = [...first.stdout.trim().split("\n"), ...rest];
    const records = await Promise.all(replays.map((id) => readExecution(session.service, id)));
    assert.deepEqual(
      records.map((record) => record["replay_of"]),
      failed,
    );
    await untilEnded(rest);
    const again = await session.run(["execution", "replay", "--webhook", "sixty"]);
    const said = "Run again: 0 executions; 60 have a replay already, 60 of which failed: ";
    const none = [0, "", `${said}run those again by --flow fail\n`];
    assert.deepEqual([again.code, again.stdout, again.stderr], none);
    const others = await session.run(["execution", "replay", "--webhook", "sixty", "--from", LATE]);
    assert.equal(others.stderr, "Run again: none. No execution matches\n");
  });

  test("replay: a refused one does not keep the others back", async () => {
    await session.service.createWebhook("versions", "fail");
    await fail("versions", 1);
    const wanted = ["--webhook", "versions", "--flow-version", "none"];
    const refused = await session.run(["execution", "replay", ...wanted]);
    assert.equal(refused.code, 1);
    assert.match(
      refused.stderr,
      /: flow_version: .*is not kept any more\nRun again: 0 .*\nThe service refused 1 of them\n$/,
    );
  });

  test("replay: what does not say which executions is refused, and starts none", async () => {
    const says = async (...args: string[]) => {
      const finished = await session.run(["execution", "replay", ...args]);
      assert.deepEqual([finished.code, finished.stdout], [2, ""], all(finished));
      return finished.stderr;
    };
    const names = "--webhook, --flow, --status, --from or --to";
    const both = `Found an id and options. Give the id alone, or only ${names}\n`;
    assert.match(await says(), new RegExp(`^Which executions\\? .*${names}\n$`));
    assert.match(await says("--limit", "3"), /^Which executions\?/);
    assert.equal(await says("x", "--flow", "fail"), both);
    assert.equal(await says("x", "--limit", "3"), both);
    assert.match(await says("--flow", "fail", "--input", "1"), /^--input is for one execution/);
    for (const status of ["RUNNING", "ended_error,pending"])
      assert.match(
        await says("--flow", "fail", "--status", status),
        /^--status: found [A-Z]+, exp/,
      );
  });

  test("list: says where the limit cut it", async () => {
    const cut = await session.run(["execution", "list", "--limit", "1", "--json"]);
    assert.equal(cut.stderr, "1 shown, there are more: --limit sets how many\n");
    assert.equal((JSON.parse(cut.stdout) as unknown[]).length, 1);
    const whole = await session.run(["execution", "list", "--limit", "1000"]);
    assert.equal(whole.stderr, "");
  });

  /** Calls a webhook so often, one after the other. @returns ids of the executions, which have failed */
  async function fail(webhook: string, count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const answer = await fetch(`${session.service.url}/api/latest/webhook/${webhook}/call`);
      assert.equal(answer.status, 500);
      ids.push(answer.headers.get("flowhook-execution-id")!);
    }
    return ids;
  }

  async function untilEnded(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => session.service.api("GET", `/execution/${id}/wait`)));
  }

  async function outputOf(id: string): Promise<unknown> {
    const { body } = await session.service.api("GET", `/execution/${id}/wait`);
    return (body as { output_value: unknown }).output_value;
  }

  test("an id that is not there", async () => {
    for (const act of ["show", "cancel", "replay"]) {
      const finished = await session.run(["execution", act, "none/../x"]);
      const said =
        'There is no execution "none/../x": expected an id, as GET /api/latest/execution lists them\n';
      assert.deepEqual([finished.code, finished.stderr], [1, said], act);
    }
  });

  test("fixture: the input of a call without credentials, which a flow runs again", async () => {
    const key = `fhk_${"a1B2".repeat(11)}`;
    const id = await startAndWait("echo", {
      method: "POST",
      path: null,
      headers: { "x-shop": "7", authorization: "Basic eA==", "idempotency-key": "k1" },
      query: { q: "1", access_token: "t" },
      json: {
        item: "lamp",
        user: { name: "Ada", password: "hush" },
        note: `use ${key}`,
        tokens: ["hush"],
        api_key: { id: 7, value: "hush" },
      },
    });
    const made = await session.run(["execution", "fixture", id]);
    assert.equal(made.code, 0, all(made));
    assert.deepEqual(JSON.parse(made.stdout), {
      method: "POST",
      path: null,
      headers: { "x-shop": "7", "idempotency-key": "k1" },
      query: { q: "1", access_token: "removed" },
      json: {
        item: "lamp",
        user: { name: "Ada", password: "removed" },
        note: "use removed",
        tokens: ["removed"],
        api_key: { id: "removed", value: "removed" },
      },
    });
    assert.match(
      made.stderr,
      /^Credentials removed: headers\.authorization, query\.access_token, json\.user\.password, json\.note, json\.tokens\.0, json\.api_key\.id, json\.api_key\.value\./,
    );
    const again = await session.run(["flow", "run", "echo", "--input", "-"], {
      input: made.stdout,
    });
    assert.deepEqual(JSON.parse(again.stdout), JSON.parse(made.stdout));
    const none = await session.run([
      "execution",
      "fixture",
      "01a202fd-9e7e-7000-8264-4589e1d97214",
    ]);
    assert.match(none.stderr, /^There is no execution/);
  });

  test("fixture: numbers as they were sent", async () => {
    const numbers = '{"id":12345678901234567890,"price":19.90,"rate":1.0,"pin_token":4.0}';
    const input = `{"json":${numbers}}`;
    const run = await session.run(["flow", "run", "echo", "--json", "--input", "-"], { input });
    const { id } = JSON.parse(run.stdout) as { id: string };
    const made = await session.run(["execution", "fixture", id]);
    const found = made.stdout.slice(made.stdout.indexOf('"json"')).replaceAll(/\s/g, "");
    assert.equal(found, `"json":${numbers.replace("4.0", '"removed"')}}`, all(made));
  });
});
