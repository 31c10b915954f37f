import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { findProgram } from "../blackbox/target.ts";
import { findPort } from "../free-port.ts";
import { cpuOf, openTestService, type TestService } from "./test-service.ts";
import { figure } from "./sizes.ts";

/** Event streams: many of them, slow ones, and those of somebody who may not listen any more. */

const PASSWORD = "a password of a listener";
const EVENTS = "/api/latest/execution/events";
/** The most that are open at the same time, of one user and in all. */
const MOST_OF_USER = 5;
const MOST = 200;
const nginx = findProgram("nginx");

const LOUD = `export default (flow) => { flow.set_status_message("x".repeat(4000)); return null; };`;
/** As JSON six times as long; many of them are started together. */
const LOUDEST = LOUD.replace('"x"', '"\\u0001"');
/** Its log has more than waits for a reader. */
const WORDY = `export default () => { for (let n = 0; n < 950; n += 1) console.log("\\u0001".repeat(4000)); };`;
const MANY = 200;
const MANY_AT_ONCE = `export default async (flow) => {
  const start = () => flow.start_execution("loudest", null);
  for (let left = ${MANY}; left > 0; left -= 100) await Promise.all(Array.from({ length: 100 }, start));
};`;

describe("event streams", () => {
  let service: TestService;
  const listeners: string[] = [];
  before(async () => {
    service = await openTestService({
      flows: ["echo", "sleep"],
      files: { "loud.js": LOUD, "loudest.js": LOUDEST, "many.js": MANY_AT_ONCE, "wordy.js": WORDY },
    });
    for (const name of ["echo", "loud", "sleep", "wordy"])
      await service.createWebhook(name, name, { is_productive: true });
  });
  after(() => service[Symbol.asyncDispose]());

  async function listener(name: string): Promise<string> {
    const user = { name, password: PASSWORD, roles: ["viewer"], own_password: ADMIN_PASSWORD };
    assert.equal((await service.api("POST", "/user", user)).status, 201);
    const given = { user_name: name, password: PASSWORD };
    const login = await service.api("POST", "/auth/login", given, "");
    return (JSON.parse(login.text) as { token: string }).token;
  }

  test("H7: one user has at most five, and gets another one when one is closed", async () => {
    const token = await listener("one");
    const open = await openMany(service, token, MOST_OF_USER);
    const refused = await Listening.open(service, token);
    assert.match(refused.received, /^HTTP\/1\.1 429 /);
    assert.match(refused.received, /retry-after: \d+/i);
    assert.match(refused.received, /urn:flowhook:error:too_many_requests/);
    open[0]!.close();
    await poll("a place for another stream", async () => {
      const next = await Listening.open(service, token);
      const isOpen = next.received.startsWith("HTTP/1.1 200 ");
      next.close();
      return isOpen ? true : null;
    });
    for (const one of open) one.close();
  });

  test("H7: two hundred are open at most, and they cost the callers little", async () => {
    for (let n = 0; n < MOST / MOST_OF_USER; n += 1) listeners.push(await listener(`many-${n}`));
    const quiet = await cpuOf(service, () => callMany(service, 400));
    const open: Listening[] = [];
    for (const token of listeners) open.push(...(await openMany(service, token, MOST_OF_USER)));
    const late = await Listening.open(service, await listener("late"));
    assert.match(late.received, /^HTTP\/1\.1 503 /);
    assert.match(late.received, /urn:flowhook:error:overloaded/);
    const loud = await cpuOf(service, () => callMany(service, 400));
    figure("streams: CPU of 400 calls without streams", quiet, "ms");
    figure(`streams: CPU of 400 calls with ${MOST} streams`, loud, "ms");
    // Each stream for itself would cost thirty times as much.
    assert.ok(loud < 6 * quiet + 300, `${loud} ms of CPU with streams, ${quiet} ms without`);
    const id = await start(service, "echo");
    await poll("the last execution at every stream", async () =>
      open.every((one) => one.hasEnded(id)) ? true : null,
    );
    for (const one of open) one.close();
    await service.assertAlive();
  });

  test("H7: a reader that does not read is dropped", async () => {
    const token = await listener("slow");
    const slow = await Listening.open(service, token);
    slow.socket.pause();
    const reader = await Listening.open(service, token);
    const closed = poll(
      "the slow reader to be dropped",
      async () => {
        await callMany(service, 200, "loud");
        return isConnected(service, slow.socket) ? null : true;
      },
      120_000,
    );
    await closed;
    const id = await start(service, "echo");
    await poll("whoever reads to be told", async () => (reader.hasEnded(id) ? true : null));
    slow.close();
    reader.close();
  });

  test("who reads is told of all that changes, also where that is megabytes at once", async () => {
    const role = { name: "starter", propagate: true, password: ADMIN_PASSWORD };
    const permissions = [{ permission: "execution.start" }];
    const made = await service.api("POST", "/role", { ...role, permissions });
    assert.equal(made.status, 201, made.text);
    await service.createWebhook("many", "many", { role: role.name });
    const reader = await Listening.open(service, await listener("quick"));
    await start(service, "many");
    const ending = /"id":"([^"]+)","status":"ENDED_SUCCESS","status_message":"\\u0001/g;
    await poll("the reader to be told of each ending", async () => {
      const ended = [...reader.received.matchAll(ending)].map(([, id]) => id);
      return new Set(ended).size === MANY ? true : null;
    });
    reader.close();
  });

  test("a log of megabytes is told whole, each line once, and then the end", async () => {
    const token = await listener("patient");
    const id = await start(service, "wordy");
    const reader = await Listening.open(service, token, `/api/latest/execution/${id}/events`);
    await reader.ended();
    const told = reader.received.match(/^id: \d+$/gm) ?? [];
    const first = Number(told[0]?.slice(4));
    const log = await service.api("GET", `/execution/${id}/log?limit=500`);
    const { items } = JSON.parse(log.text) as { items: readonly unknown[] };
    assert.ok(items.length > 200, `${items.length} lines`);
    assert.deepEqual(
      told,
      items.map((_, at) => `id: ${first + at}`),
    );
    assert.ok(reader.hasEnded(id));
  });

  test("M9: a stream ends with the role, the user and the login of whoever listens", async () => {
    const change = (name: string, body: object) =>
      service.api("PATCH", `/user/${name}`, { ...body, own_password: ADMIN_PASSWORD });
    const ways: Readonly<Record<string, (name: string, token: string) => Promise<unknown>>> = {
      demoted: (name) => change(name, { roles: [] }),
      disabled: (name) => change(name, { is_enabled: false }),
      "logged-out": (_, token) => service.api("POST", "/auth/logout", undefined, token),
      deleted: (name) => service.api("DELETE", `/user/${name}`, { password: ADMIN_PASSWORD }),
    };
    for (const [name, act] of Object.entries(ways)) {
      const token = await listener(name);
      const id = await start(service, "sleep", "&ms=20000");
      const all = await Listening.open(service, token);
      const one = await Listening.open(service, token, `/api/latest/execution/${id}/events`);
      await act(name, token);
      const secret = await start(service, "echo");
      await service.api("POST", `/execution/${id}/cancel`);
      await Promise.all([all.ended(), one.ended()]);
      assert.ok(!all.received.includes(secret), `${name}: nothing is told any more`);
      assert.ok(!one.received.includes("ENDED_CANCELLED"), `${name}: nor of one execution`);
    }
  });

  test("M9: a role that is narrowed to a project narrows an open stream", async () => {
    const password = ADMIN_PASSWORD;
    const permissions = [{ permission: "execution.read" }];
    await service.api("POST", "/role", { name: "reader", permissions, password });
    const token = await listener("narrowed");
    const own_password = ADMIN_PASSWORD;
    await service.api("PATCH", "/user/narrowed", { roles: ["reader"], own_password });
    const stream = await Listening.open(service, token);
    const seen = await start(service, "echo");
    await poll("the first execution", async () => (stream.hasEnded(seen) ? true : null));
    const project = await service.api("POST", "/project", { name: "Elsewhere" });
    const { id } = JSON.parse(project.text) as { id: string };
    const narrow = [{ permission: "execution.read", project_id: id }];
    await service.api("PATCH", "/role/reader", { permissions: narrow, password });
    await service.createWebhook("there", "echo", { is_productive: true, project_id: id });
    const hidden = await start(service, "echo");
    const shown = await start(service, "there");
    await poll("the execution there", async () => (stream.hasEnded(shown) ? true : null));
    assert.ok(!stream.received.includes(hidden));
    stream.close();
  });

  test("proxies are told not to gather events", async () => {
    const token = await listener("behind");
    const id = await start(service, "echo");
    for (const path of [EVENTS, `/api/latest/execution/${id}/events`]) {
      const stream = await Listening.open(service, token, path);
      assert.match(stream.received, /^x-accel-buffering: no\r$/im, path);
      stream.close();
    }
  });

  const skip = nginx === null ? "no nginx on this machine" : false;
  test("4: events come through nginx as it comes", { skip }, async () => {
    const token = await listener("nginx");
    await using proxy = await openProxy(service);
    const stream = await Listening.open({ ...service, origin: proxy.origin }, token);
    assert.match(stream.received, /^HTTP\/1\.1 200 /);
    const id = await start(service, "echo");
    await poll("an event through nginx", async () => (stream.hasEnded(id) ? true : null));
    stream.close();
  });
});

/** A stream as it comes over the wire. */
class Listening {
  readonly socket: Socket;
  received = "";

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => (this.received += bytes.toString()));
  }

  /** A stream over HTTP/1.1 ends with an empty chunk. */
  ended(): Promise<true> {
    return poll("the end of a stream", async () =>
      this.socket.closed || this.received.endsWith("\r\n0\r\n\r\n") ? true : null,
    );
  }

  static async open(
    { origin }: Pick<TestService, "origin">,
    token: string,
    path = EVENTS,
  ): Promise<Listening> {
    const socket = connect(origin.port, origin.host);
    const listening = new Listening(socket);
    await once(socket, "connect");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nx-service-token: ${token}\r\n\r\n`);
    await poll("the answer to a listener", async () =>
      /retry: 2000|urn:flowhook:error/.test(listening.received) ? true : null,
    );
    return listening;
  }

  hasEnded(id: string): boolean {
    const at = this.received.lastIndexOf(`"id":"${id}"`);
    return at >= 0 && this.received.slice(at, at + 100).includes('"ENDED_');
  }

  close(): void {
    this.socket.destroy();
  }
}

async function openMany(service: TestService, token: string, count: number): Promise<Listening[]> {
  const all = await Promise.all(
    Array.from({ length: count }, () => Listening.open(service, token)),
  );
  for (const one of all) assert.match(one.received, /^HTTP\/1\.1 200 /);
  return all;
}

async function start(service: TestService, webhook: string, query = ""): Promise<string> {
  const answer = await service.call(webhook, `?async${query}`);
  assert.equal(answer.status, 201, answer.text);
  return answer.text;
}

async function callMany(service: TestService, count: number, webhook = "echo"): Promise<void> {
  for (let left = count; left > 0; left -= 20)
    await Promise.all(Array.from({ length: 20 }, () => start(service, webhook)));
}

/** Whether the server still holds its side of a connection that is not read here (proc(5)). */
function isConnected(service: TestService, socket: Socket): boolean {
  const port = (number: number): string => number.toString(16).toUpperCase().padStart(4, "0");
  const pair = `:${port(service.origin.port)} 0100007F:${port(socket.localPort ?? 0)} 01 `;
  return readFileSync("/proc/net/tcp", "latin1").includes(pair);
}

interface Proxy {
  readonly origin: TestService["origin"];
  [Symbol.asyncDispose](): Promise<void>;
}

/** nginx as Debian ships it, with nothing set but where to pass requests on to. */
async function openProxy(service: TestService): Promise<Proxy> {
  const folder = join(service.directory, "nginx");
  await mkdir(folder);
  const port = await findPort();
  const { host, port: behind } = service.origin;
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join("\n");
  await writeFile(
    join(folder, "nginx.conf"),
    `daemon off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\n` +
      `http {\nsendfile on;\ntcp_nopush on;\ngzip on;\naccess_log off;\n${paths}\nserver { listen 127.0.0.1:${port};\n` +
      `location / { proxy_pass http://${host}:${behind}; } } }\n`,
  );
  const child = spawn(nginx!, ["-p", folder, "-c", join(folder, "nginx.conf")], {
    stdio: "ignore",
  });
  const origin = { host: "127.0.0.1", port };
  await poll("nginx to listen", () => isListening(port));
  return {
    origin,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

function isListening(port: number): Promise<true | null> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(null));
  });
}
