import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCommand, type Finished } from "../blackbox/command.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { all } from "./session.ts";

const target = openTarget();

/** What stands where a service is looked for, by the first segment of its URL. */
const ANSWERS: Readonly<Record<string, (response: ServerResponse) => void>> = {
  moved: (response) => response.writeHead(301, { location: "https://other.invalid/" }).end(),
  nowhere: (response) => response.writeHead(302).end(),
  local: (response) => response.writeHead(302, { location: "data:text/plain,secret" }).end(),
  page: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Hi</h1>"),
  other: (response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"),
  shapes: (response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end('{"items":{},"nodes":"abc"}'),
  null: (response) => response.writeHead(200, { "content-type": "application/json" }).end("null"),
  circle: (response) =>
    response
      .writeHead(200, { "content-type": "application/json" })
      .end('{"items":[{"name":"a"}],"next_cursor":"again"}'),
  broken: (response) =>
    response.writeHead(200, { "content-length": "100" }).write("cut", () => response.destroy()),
  dropped: (response) => {
    if (response.req.method !== "GET") return response.destroy();
    response.writeHead(200, { "content-type": "application/json" }).end('{"id":"1"}');
  },
  slow: (response) => slow.push(response),
};

/** Not answered before a test does. */
const slow: ServerResponse[] = [];

const PAGE = /^Found text\/html at http.*Is the URL right\?/;

describe("requests that come to nothing", { skip: target.skip ?? false, concurrency: 2 }, () => {
  let folder = "";
  let origin = "";
  const server = createServer(({ url = "" }, response) => {
    ANSWERS[url.split("/")[1] ?? ""]?.(response);
  });
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "flowhook-requests-"));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });

  /** One sentence on standard error, without a stack. */
  async function refuse(
    args: readonly string[],
    code: number,
    env: Record<string, string> = {},
  ): Promise<string> {
    const options = { cwd: folder, env: { XDG_CONFIG_HOME: folder, ...env } };
    const finished: Finished = await runCommand(target, args, options);
    assert.equal(finished.code, code, all(finished));
    assert.match(finished.stderr, /^.+\n$/);
    return finished.stderr;
  }

  const rows: Record<string, [args: string[], service: keyof typeof ANSWERS, says: RegExp]> = {
    "a redirect, for a list": [
      ["webhook", "list"],
      "moved",
      /^Found 301 Moved Permanently to https:\/\/other\.invalid\/ at http.*no answer of Flowhook/,
    ],
    "a redirect, for an export": [["webhook", "export"], "moved", /^Found 301 /],
    "a redirect without a target": [["call", "a"], "nowhere", /^The call was answered with 302 /],
    "a redirect to no address": [["call", "a"], "local", /^Cannot follow the redirect to "data:/],
    "a page": [["webhook", "show", "a"], "page", PAGE],
    "a page, for a deletion": [["webhook", "delete", "a"], "page", PAGE],
    "a page, for an export": [["webhook", "export"], "page", PAGE],
    "no object": [["webhook", "show", "a"], "null", /^Found JSON without "name" at http/],
    "no object, for a list": [["webhook", "list"], "null", /^Found JSON without "items" at/],
    "other JSON": [["webhook", "show", "a"], "other", /^Found JSON without "name" .*URL right\?/],
    "other JSON, for a list": [["flow", "list"], "other", /^Found JSON without "items" at http/],
    "other JSON, for nodes": [["nodes"], "other", /^Found JSON without "nodes" at http/],
    "a list that is none": [["webhook", "list"], "shapes", /^Found JSON without "items" at http/],
    "flows that are no list": [["flow", "list"], "shapes", /^Found JSON without "items" at http/],
    "nodes that are no list": [["nodes"], "shapes", /^Found JSON without "nodes" at http/],
    "other JSON, for a new webhook": [
      ["webhook", "create", "a", "--flow", "echo"],
      "other",
      /^Found JSON without "name" at http/,
    ],
    "other JSON, for an execution": [
      ["execution", "show", "a"],
      "other",
      /^Found JSON without "status" at http/,
    ],
    "other JSON, for a cancel": [
      ["execution", "cancel", "a"],
      "other",
      /^Found JSON without "status" at http/,
    ],
    "a list whose pages have no end": [
      ["webhook", "list"],
      "circle",
      /^Found a page that leads to itself at http.*no answer of Flowhook/,
    ],
    "a connection that breaks after an answer": [
      ["webhook", "create", "a", "--flow", "b", "--project", "shop"],
      "dropped",
      /^No answer of http\S+: the connection broke off\. What was asked for may have been done\n$/,
    ],
    "an answer that breaks off": [["call", "a"], "broken", /^The answer of http.* broke off: /],
  };
  for (const [name, [args, service, says]] of Object.entries(rows))
    test(name, async () =>
      assert.match(await refuse([...args, "--url", `${origin}/${service}`], 1), says),
    );

  test("a service that takes its time is said to be waited for", async () => {
    const [program, ...leading] = target.command;
    const url = `${origin}/slow`;
    const args = [...leading, "flow", "reload", "--json", "--url", url];
    const child = spawn(program, args, { cwd: folder, env: environment() });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    const [told] = (await once(child.stderr.setEncoding("utf8"), "data")) as [string];
    assert.equal(told, `Waiting for the service at ${url}\n`);
    slow.pop()?.writeHead(200, { "content-type": "application/json" }).end('{"items":[]}');
    assert.deepEqual(await once(child, "close"), [0, null]);
    assert.equal(printed, "[]\n");
  });

  test("what cannot be sent", async () => {
    const call = ["call", "a", "--url", `${origin}/other`];
    const header = await refuse([...call, "-H", "X-A: a€b"], 2);
    assert.match(header, /^The header "X-A" cannot be sent: expected .*Latin-1/);
    const key = await refuse([...call, "--key", "the\nkey"], 2);
    assert.match(key, /^The key cannot be sent: /);
    assert.doesNotMatch(key, /the\nkey/);
    assert.match(await refuse([...call, "-X", "A B"], 2), /^Cannot send the request: .*method/);
    const body = await refuse([...call, "-X", "GET", "-d", "{}"], 2);
    assert.match(body, /^Cannot send the request: .*GET/);
    const token = { FLOWHOOK_TOKEN: "fht\nsecret" };
    assert.match(await refuse(call, 2, token), /^The login token has characters/);
    assert.match(await refuse(["webhook", "show", "..", "--url", origin], 2), /^Found "\.\."/);
    assert.match(await refuse(["call", "", "--url", origin], 2), /^Found "", expected a name/);
  });
});
