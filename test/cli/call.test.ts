import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { after, before, beforeEach, describe, test } from "node:test";
import { text } from "node:stream/consumers";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { openTarget } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();
const SECRET = "a secret of somebody";

interface Seen {
  readonly method: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

describe("redirects of a call", { skip: target.skip ?? false }, () => {
  const TOKEN = { scheme: "gitlab_token", secrets: ["set"], custom: null };
  let signature: object = TOKEN;
  let status = 307;
  let location = "";
  const seen: { here: Seen[]; there: Seen[] } = { here: [], there: [] };
  const here = createServer((request, response) => void answer(request, response));
  const there = createServer((request, response) => {
    void look(request, seen.there).then(() => response.end("arrived"));
  });
  const servers: readonly Server[] = [here, there];
  before(async () => {
    for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  });
  beforeEach(() => {
    signature = TOKEN;
    seen.here = [];
    seen.there = [];
  });
  after(() => {
    for (const server of servers) server.close().closeAllConnections();
  });

  /** The webhook, as a service shows it and as its calls are answered. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === "/api/latest/webhook/a") {
      const url = "http://flowhook.invalid/api/latest/webhook/a/call";
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ signature, url }));
      return;
    }
    await look(request, seen.here);
    if (request.url === "/end") response.end("arrived");
    else response.writeHead(status, { location }).end();
  }

  async function look(request: IncomingMessage, list: Seen[]): Promise<void> {
    const { method = "", headers } = request;
    list.push({ method, headers, body: await text(request) });
  }

  function originOf(server: Server): string {
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** What a webhook answers, and what is called. */
  function call(given: { status: number; to: string }, ...args: string[]): Promise<Finished> {
    ({ status, to: location } = given);
    const env = {
      FLOWHOOK_URL: originOf(here),
      FLOWHOOK_TOKEN: "fht_of-somebody",
      XDG_CONFIG_HOME: tmpdir(),
    };
    return runCommand(target, ["call", "a", ...args], { cwd: tmpdir(), env, input: `${SECRET}\n` });
  }

  const HEADERS = ["-H", "X-Own: of mine", "-H", "Accept: text/plain"];
  const SIGNED = ["--key", "a-key-of-my-own-1815", "--sign", "--secret-stdin", "-d", "{}"];

  for (const name of ["a/../../../secret", "a/x/%2e%2e/%2E./b"])
    test(`${name}: what would leave the webhook is not sent`, async () => {
      const url = originOf(here);
      const finished = await runCommand(target, ["call", name, "--url", url], { cwd: tmpdir() });
      assert.equal(finished.code, 2, all(finished));
      assert.match(finished.stderr, /^Found "a\/.*", expected a path below the webhook/);
      assert.deepEqual(seen.here, []);
    });

  test("another host gets the body, and no header that may hold a secret", async () => {
    const finished = await call({ status: 307, to: originOf(there) }, ...HEADERS, ...SIGNED);
    assert.equal(finished.stdout, "arrived", all(finished));
    const [first] = seen.here;
    assert.equal(first?.headers["x-gitlab-token"], SECRET);
    assert.equal(first.headers["x-own"], "of mine");
    const [got] = seen.there;
    assert.deepEqual([got?.method, got?.body], ["POST", "{}"]);
    assert.equal(got?.headers["accept"], "text/plain");
    assert.equal(got.headers["content-type"], "application/json");
    assert.doesNotMatch(JSON.stringify(got.headers), /of somebody|of-somebody|of mine|my-own/);
  });

  test("a token of a custom scheme is sent in its header, behind its prefix", async () => {
    const custom = { algorithm: "token", header: "x-mine", prefix: "Mine ", separator: null };
    const rest = { parameter: null, timestamp: null, id_header: null };
    signature = { scheme: "custom", secrets: ["set"], custom: { ...custom, ...rest } };
    const finished = await call({ status: 303, to: "/end" }, ...SIGNED);
    assert.equal(finished.stdout, "arrived", all(finished));
    assert.equal(seen.here[0]?.headers["x-mine"], `Mine ${SECRET}`);
  });

  test("another host gets no body, and no type of one, behind a 303", async () => {
    const finished = await call({ status: 303, to: originOf(there) }, ...HEADERS, ...SIGNED);
    assert.equal(finished.stdout, "arrived", all(finished));
    const [got] = seen.there;
    assert.deepEqual([got?.method, got?.body], ["GET", ""]);
    assert.equal(got?.headers["content-type"], undefined);
    assert.doesNotMatch(JSON.stringify(got?.headers), /of somebody|of-somebody|of mine|my-own/);
  });

  const METHODS: [status: number, sent: string, then: string][] = [
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [307, "POST", "POST"],
    [308, "POST", "POST"],
    [302, "PUT", "PUT"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
  ];
  for (const [code, sent, then] of METHODS)
    test(`${sent} is ${then} after ${code}`, async () => {
      const data = sent === "HEAD" ? [] : ["-d", "{}"];
      const finished = await call({ status: code, to: "/end" }, "-X", sent, ...data);
      assert.equal(finished.code, 0, all(finished));
      const [, second] = seen.here;
      assert.equal(second?.method, then);
      assert.equal(second.body, then === sent && sent !== "HEAD" ? "{}" : "");
    });

  test("too many: the execution goes on where the service's own lead to it", async () => {
    const own = await call({ status: 302, to: "?__wait_execution_id=1" });
    assert.match(own.stderr, /^Stopped after 10 redirects: the execution goes on\. Use --async/);
    const other = await call({ status: 302, to: "/again" });
    assert.match(other.stderr, /^Stopped after 10 redirects: the last leads to "http.*\/again"\n$/);
    assert.deepEqual([own.code, other.code], [1, 1]);
  });
});
