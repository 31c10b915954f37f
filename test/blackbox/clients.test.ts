import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { tmpdir } from "node:os";
import { after, before, describe, test } from "node:test";
import {
  CLIENTS,
  missingClient,
  openRecorder,
  runClient,
  type Client,
  type ClientCall,
} from "./clients.ts";
import { callTarget, countExecutions } from "./scenario.ts";
import { startService, type Service } from "./service.ts";
import { openTarget } from "./target.ts";

const CREDENTIALS = {
  authorization: "Bearer of-the-caller",
  "x-service-token": "of-the-caller",
  "x-custom": "own",
  cookie: "a=1",
  "content-type": "application/json",
};

/** What a client does with 303 and 302 alike; the table of the page "webhooks" is made of it. */
interface Manners {
  readonly follows: boolean;
  /** The method of the second request after GET and after POST. */
  readonly after: Readonly<Partial<Record<ClientCall["method"], string>>>;
  /** Redirects that it follows where each leads on, and where all lead to one URL. */
  readonly limit: number;
  readonly sameUrlLimit: number;
}

const CURL: Manners = { follows: true, after: {}, limit: 50, sameUrlLimit: 50 };

/** Credentials are kept by all of them, since a redirect of a call stays on its host. */
const MANNERS: Readonly<Record<string, Manners>> = {
  curl: { follows: false, after: {}, limit: 0, sameUrlLimit: 0 },
  "curl -L": { ...CURL, after: { GET: "GET" } },
  "curl -d … -L": { ...CURL, after: { POST: "GET" } },
  "curl -X POST -d … -L": { ...CURL, after: { POST: "POST" } },
  wget: { follows: true, after: { GET: "GET", POST: "GET" }, limit: 20, sameUrlLimit: 20 },
  "Node fetch": { follows: true, after: { GET: "GET", POST: "GET" }, limit: 20, sameUrlLimit: 20 },
  // Four times to one URL: the fifth leg of a call is its last (five windows of 20 s).
  "Python urllib": {
    follows: true,
    after: { GET: "GET", POST: "GET" },
    limit: 10,
    sameUrlLimit: 4,
  },
};

function callOf(method: ClientCall["method"], url: string, headers = {}): ClientCall {
  return { method, url, headers, ...(method === "POST" ? { body: '{"n":1}' } : {}) };
}

function mannersOf(client: Client): Manners {
  const manners = MANNERS[client.name];
  assert.ok(manners !== undefined, `no manners for "${client.name}"`);
  return manners;
}

for (const client of CLIENTS) {
  const missing = missingClient(client);
  describe(`what ${client.name} does with a redirect`, { skip: missing ?? false }, () => {
    for (const method of client.methods) {
      for (const status of [303, 302]) {
        test(`${method} and ${status}`, () => assertManners(client, method, status));
      }
    }
    for (const same of [false, true]) {
      test(`how many ${same ? "to one URL" : "in all"}`, () => assertLimit(client, same));
    }
  });
}

async function assertManners(
  client: Client,
  method: ClientCall["method"],
  status: number,
): Promise<void> {
  await using recorder = await openRecorder({ status, times: 1 });
  const { stdout } = await runClient(client, callOf(method, recorder.url, CREDENTIALS), tmpdir());
  const [first, second] = recorder.seen;
  const manners = mannersOf(client);
  assert.equal(first?.method, method);
  if (!manners.follows) {
    assert.equal(second, undefined);
    assert.match(stdout, new RegExp(String(status)));
    return;
  }
  assert.match(stdout, /arrived/);
  assert.equal(second?.method, manners.after[method], "method of the second request");
  assert.equal(second?.body, "", "the body is not repeated");
  for (const name of ["authorization", "x-service-token", "x-custom", "cookie"] as const) {
    assert.equal(second?.headers[name], CREDENTIALS[name], `${name} is kept`);
  }
}

async function assertLimit(client: Client, same: boolean): Promise<void> {
  await using recorder = await openRecorder({ status: 302, times: 80, same });
  const method = client.methods[0] ?? "GET";
  await runClient(client, callOf(method, recorder.url), tmpdir());
  const { limit, sameUrlLimit } = mannersOf(client);
  assert.equal(recorder.seen.length - 1, same ? sameUrlLimit : limit);
}

const target = openTarget();
const KEY = "blackbox-canary-key-of-clients";
const SECRET = "blackbox-canary-secret-of-clients";

describe(`clients nobody here wrote (${target.name})`, { skip: target.skip ?? false }, () => {
  let service: Service;
  before(async () => {
    service = await startService({
      // Long enough that a client which follows few redirects waits for a flow that starts slowly.
      config: { WAIT_POLL_WINDOW_SEC: 3 },
      flows: ["echo", "sleep"],
    });
    await service.createWebhook("echo", "echo");
    await service.createWebhook("keyed", "echo", { key: KEY });
    await service.createWebhook("sleep", "sleep");
    await service.api("POST", "/secret", { name: "sender", value: SECRET });
    await service.createWebhook("signed", "echo", {
      methods: ["POST"],
      signature: { scheme: "github", secrets: ["sender"] },
    });
  });
  after(async () => {
    await service.stop();
  });

  for (const client of CLIENTS.filter((one) => mannersOf(one).after.POST !== undefined)) {
    const skip = missingClient(client) ?? false;
    test(`${client.name}: a signed call of a webhook that takes POST alone`, { skip }, async () => {
      const url = `http://${service.origin.host}:${service.origin.port}${callTarget(service, "signed")}`;
      const call = callOf("POST", url, { "content-type": "application/json" });
      const digest = createHmac("sha256", SECRET)
        .update(call.body ?? "")
        .digest("hex");
      const headers = { ...call.headers, "x-hub-signature-256": `sha256=${digest}` };
      const { stdout } = await runClient(client, { ...call, headers }, tmpdir());
      assert.match(stdout, /"json":\{"n":1\}/);
    });
  }

  for (const client of CLIENTS) {
    const skip = missingClient(client) ?? false;
    for (const method of client.methods) {
      test(`${client.name}: ${method}`, { skip }, async () => {
        const url = `${service.origin.host}:${service.origin.port}`;
        const before = await countExecutions(service, "echo");
        const path = callTarget(service, "echo", "/a/b?q=1");
        const headers = { "content-type": "application/json" };
        const { stdout } = await runClient(
          client,
          callOf(method, `http://${url}${path}`, headers),
          tmpdir(),
        );
        if (!mannersOf(client).follows) assert.match(stdout, /-L[^]*303/);
        else assertEcho(stdout, method);
        assert.equal(await countExecutions(service, "echo"), before + 1, "one execution");
      });
    }
    test(`${client.name}: asynchronous`, { skip }, async () => {
      const url = `${service.url}/api/latest/webhook/echo/call?async`;
      const method = client.methods[0] ?? "GET";
      const headers = { "content-type": "application/json" };
      const { stdout } = await runClient(client, callOf(method, url, headers), tmpdir());
      assert.match(stdout, /^[0-9a-f]{8}-[0-9a-f-]{27}/);
    });
    if (client.name === "curl") continue;
    test(`${client.name}: through several legs, with a key`, { skip }, async () => {
      const keyed = `${service.url}/api/latest/webhook/keyed/call`;
      const slow = `${service.url}/api/latest/webhook/sleep/call?ms=3300`;
      const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
      const method = client.methods[0] ?? "GET";
      const [one, two] = await Promise.all([
        runClient(client, callOf(method, keyed, headers), tmpdir()),
        runClient(client, callOf(method, slow, { "content-type": "application/json" }), tmpdir()),
      ]);
      assert.match(one.stdout, new RegExp(`"method":"${method}"`));
      assert.ok(!one.stdout.includes(KEY));
      assert.match(two.stdout, /"slept":3300/);
    });
  }
});

function assertEcho(stdout: string, method: string): void {
  assert.match(stdout, new RegExp(`"method":"${method}"`));
  assert.match(stdout, /"path":"a\/b"/);
  if (method === "POST") assert.match(stdout, /"json":\{"n":1\}/);
}
