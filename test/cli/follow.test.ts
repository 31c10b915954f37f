import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { openGate, type Gate } from "../api/gate.ts";
import { readExecution } from "../blackbox/scenario.ts";
import { environment, openTarget } from "../blackbox/target.ts";
import { openFaultProxy } from "../fault-proxy.ts";
import { HUNG_MS } from "../hung.ts";
import { openWorkplace } from "./dev-session.ts";
import { openSession, type Session } from "./session.ts";

const target = openTarget();

const PACED = `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { net: true },
  async run(flow) {
    for (const [at, gate] of flow.input_value.entries()) {
      flow.log.info("line", at);
      await fetch(gate);
    }
    flow.log.warn("last\\u001b[2J");
    return "through";
  },
});
`;

const BROKEN = `import { defineFlow } from "flowhook";
export default defineFlow({ run: () => Promise.reject(new Error("broken")) });
`;

const LINE = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z info  line `;

/** A command that runs, and what it prints. */
interface Running {
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves once it has printed this, to either. */
  until(expected: RegExp): Promise<RegExpMatchArray>;
  interrupt(): void;
  /** Closes the reader's end of its standard output. */
  leave(): void;
  readonly code: Promise<number | null>;
}

function begin(args: readonly string[], cwd: string, env: Record<string, string>): Running {
  const [program, ...leading] = target.command;
  const child = spawn(program, [...leading, ...args], { cwd, env: environment(env) });
  const signal = AbortSignal.timeout(HUNG_MS);
  signal.addEventListener("abort", () => child.kill("SIGKILL"));
  const printed = { stdout: "", stderr: "" };
  const more = new EventTarget();
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
      more.dispatchEvent(new Event("more"));
    });
  const all = () => printed.stdout + printed.stderr;
  return {
    get stdout() {
      return printed.stdout;
    },
    get stderr() {
      return printed.stderr;
    },
    async until(expected) {
      for (;;) {
        const found = expected.exec(all());
        if (found !== null) return found;
        await once(more, "more", { signal }).catch(() => {
          throw new Error(`It did not show ${String(expected)}, but:\n${all()}`);
        });
      }
    },
    interrupt: () => void child.kill("SIGINT"),
    leave: () => void child.stdout.destroy(),
    code: once(child, "exit").then(([code]) => code as number | null),
  };
}

describe("the log of an execution that runs", { skip: target.skip ?? false }, () => {
  let session: Session;
  before(async () => {
    session = await openSession({ "paced.ts": PACED, "broken.ts": BROKEN });
  });
  after(() => session[Symbol.asyncDispose]());

  const run = (args: readonly string[], url = session.service.url): Running =>
    begin(args, session.folder, {
      XDG_CONFIG_HOME: session.folder,
      FLOWHOOK_URL: url,
      FLOWHOOK_TOKEN: session.service.token(),
    });

  async function start(...gates: readonly Gate[]): Promise<string> {
    const input_value = gates.map(({ url }) => url);
    const { body } = await session.service.api("POST", "/flow/paced/execution", { input_value });
    return (body as { id: string }).id;
  }

  const statusOf = async (id: string) => (await readExecution(session.service, id))["status"];

  test("show --follow: each line as it comes, then the execution", async () => {
    await using first = await openGate();
    await using second = await openGate();
    const id = await start(first, second);
    await first.arrived;
    const shown = run(["execution", "show", id, "--follow"]);
    await shown.until(new RegExp(`^${LINE}0\n`));
    first.open();
    await shown.until(new RegExp(`^${LINE}0\n${LINE}1\n`));
    assert.doesNotMatch(shown.stdout, /^id/m, "it has not ended yet");
    second.open();
    assert.equal(await shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /1\n\S+ warn {2}last \[2J\n\nid +\S+\nstatus +ENDED_SUCCESS\n/);
    assert.match(shown.stdout, /\noutput_value\n"through"\n$/);
    const again = run(["execution", "show", id, "--log", "--follow"]);
    assert.equal(await again.code, 0);
    assert.equal(again.stdout, shown.stdout, "of one that has ended");
  });

  test("show --follow --json: an object in each line", async () => {
    await using gate = await openGate();
    const id = await start(gate);
    const shown = run(["execution", "show", id, "--follow", "--json"]);
    await shown.until(/^\{"log":\{"at":"[^"]+","level":"info","text":"line 0"\}\}\n$/);
    gate.open();
    assert.equal(await shown.code, 0, shown.stderr);
    const lines = shown.stdout.trimEnd().split("\n");
    const [, , last] = lines.map((line) => JSON.parse(line) as { execution?: object });
    assert.equal(lines.length, 3);
    assert.deepEqual(last?.execution, await readExecution(session.service, id));
  });

  test("show --follow: Ctrl-C leaves the execution as it is, and says so", async () => {
    await using gate = await openGate();
    const id = await start(gate);
    const shown = run(["execution", "show", id, "--follow"]);
    await shown.until(/line 0\n/);
    shown.interrupt();
    assert.equal(await shown.code, 130);
    assert.equal(
      shown.stderr,
      `Execution ${id} goes on at ${session.service.url}\n` +
        `Follow it: flowhook execution show ${id} --follow\n` +
        `Cancel it: flowhook execution cancel ${id}\n`,
    );
    assert.equal(await statusOf(id), "RUNNING");
  });

  test("show --follow: a reader that has gone ends it", async () => {
    await using first = await openGate();
    await using second = await openGate();
    const id = await start(first, second);
    const shown = run(["execution", "show", id, "--follow"]);
    await shown.until(/line 0\n/);
    shown.leave();
    first.open();
    assert.equal(await shown.code, 0, shown.stderr);
    assert.equal(shown.stderr, "");
    assert.equal(await statusOf(id), "RUNNING");
  });

  test("show --follow: goes on behind the last line after its connection broke", async () => {
    await using first = await openGate();
    await using second = await openGate();
    const id = await start(first, second);
    const proxy = await openFaultProxy(session.service.url);
    try {
      const url = proxy.through(session.service.url);
      const shown = run(["execution", "show", id, "--follow"], url);
      await shown.until(/line 0\n/);
      proxy.drop();
      first.open();
      await second.arrived;
      proxy.open();
      await shown.until(/line 1\n/);
      second.open();
      assert.equal(await shown.code, 0, shown.stderr);
      assert.equal(shown.stdout.match(/info {2}line \d/g)?.join(), "info  line 0,info  line 1");
      assert.match(shown.stdout, /^status +ENDED_SUCCESS$/m);
    } finally {
      await proxy.close();
    }
  });

  test("flow run --log: prints lines as they come", async () => {
    await using gate = await openGate();
    const input = JSON.stringify([gate.url]);
    const ran = run(["flow", "run", "paced", "--log", "--input", input]);
    await ran.until(new RegExp(`^${LINE}0\n`));
    gate.open();
    assert.equal(await ran.code, 0, ran.stderr);
    assert.equal(ran.stdout, '"through"\n');
    assert.match(ran.stderr, /^\S+ info {2}line 0\n\S+ warn {2}last \[2J\n$/);
  });

  test("flow run --log: Ctrl-C says which execution goes on, at the service that was named", async () => {
    await using gate = await openGate();
    const { url } = session.service;
    const input = JSON.stringify([gate.url]);
    const ran = run(["flow", "run", "paced", "--log", "--input", input, "--url", url]);
    await ran.until(/line 0\n/);
    ran.interrupt();
    assert.equal(await ran.code, 130);
    const [, id = ""] = await ran.until(/Execution (\S+) goes on at http/);
    assert.ok(ran.stderr.includes(`flowhook execution show ${id} --follow --url ${url}\n`));
    assert.equal(await statusOf(id), "RUNNING");
  });

  test("flow run: Ctrl-C without --log says so as well", async () => {
    await using gate = await openGate();
    await using front = await openFront(session.service.url);
    const input = JSON.stringify([gate.url]);
    const ran = run(["flow", "run", "paced", "--input", input], front.url);
    await front.asked(/\/wait$/);
    ran.interrupt();
    assert.equal(await ran.code, 130);
    const [, id = ""] = await ran.until(/^Execution (\S+) goes on at http/);
    await gate.arrived;
    assert.equal(await statusOf(id), "RUNNING");
  });

  test("flow run: a connection that breaks is no end of the execution", async () => {
    await using gate = await openGate();
    await using front = await openFront(session.service.url, { breaking: /\/wait$/ });
    const input = JSON.stringify([gate.url]);
    const ran = run(["flow", "run", "paced", "--input", input], front.url);
    await front.asked(/\/wait$/);
    gate.open();
    assert.equal(await ran.code, 0, ran.stderr);
    assert.equal(ran.stdout, '"through"\n');
    assert.equal(ran.stderr, "");
  });

  test("flow run: whoever cannot wait any more is told which execution goes on", async () => {
    await using gate = await openGate();
    const locations = { "/wait": "http://127.0.0.1:9/" };
    await using front = await openFront(session.service.url, { locations });
    const input = JSON.stringify([gate.url]);
    const ran = run(["flow", "run", "paced", "--input", input], front.url);
    assert.equal(await ran.code, 1);
    const [, id = ""] = await ran.until(
      /^The wait for .* was sent to "http:\/\/127.0.0.1:9\/"\nExecution (\S+) goes on at http.*\nFollow it: /,
    );
    await gate.arrived;
    assert.equal(await statusOf(id), "RUNNING");
  });

  test("replay --json: Ctrl-C leaves none of what was started unsaid", async () => {
    await session.service.createWebhook("broken", "broken");
    for (let at = 0; at < 20; at += 1)
      await fetch(`${session.service.url}/api/latest/webhook/broken/call`);
    await using front = await openFront(session.service.url);
    const ran = run(["execution", "replay", "--webhook", "broken", "--json"], front.url);
    await front.asked(/\/replay$/);
    ran.interrupt();
    assert.equal(await ran.code, 130);
    const [, left = ""] = await ran.until(
      /^Run again: \d+ executions?; (\d+) are left\nStopped: give the command again for what is left\n$/m,
    );
    const started = (JSON.parse(ran.stdout) as { id: string }[]).map(({ id }) => id);
    assert.equal(started.length, 20 - Number(left));
    const { body } = await session.service.api("GET", "/execution?flow=broken&limit=100");
    const kept = (body as { items: { id: string; replay_of: string | null }[] }).items;
    const replays = kept.filter(({ replay_of }) => replay_of !== null).map(({ id }) => id);
    assert.deepEqual(replays.toSorted(), started.toSorted());
  });

  test("a redirect is followed to the service itself, and nowhere else", async () => {
    await using gate = await openGate();
    gate.open();
    const id = await start(gate);
    const locations: Record<string, string> = { "/events": "events?of=node-2" };
    await using front = await openFront(session.service.url, { locations });
    const shown = run(["execution", "show", id, "--follow"], front.url);
    assert.equal(await shown.code, 0, shown.stderr);
    assert.match(shown.stdout, /line 0\n.*last.*\n\nid /);
    await front.asked(/\/events\?of=node-2$/);
    locations["/events?of=node-2"] = "http://127.0.0.1:9/api/latest/execution/events";
    const away = run(["execution", "show", id, "--follow"], front.url);
    assert.equal(await away.code, 1);
    assert.match(away.stderr, /^The log of the execution was sent to "http:\/\/127\.0\.0\.1:9\//);
  });

  test("where no stream can be had, the lines come at the end", async () => {
    session.service.pin(true);
    await using gate = await openGate();
    const headers = { "x-service-token": session.service.token() };
    const url = `${session.service.url}/api/latest/execution/events`;
    const leaving = new AbortController();
    const { signal } = leaving;
    // Held, or the runtime may end what nobody reads.
    const open: Response[] = [];
    while (open.length < 5) open.push(await fetch(url, { headers, signal }));
    const ran = run(["flow", "run", "paced", "--log", "--input", JSON.stringify([gate.url])]);
    await ran.until(/^You have 5 event streams open already.*\nThe log cannot be followed: .*\n$/);
    gate.open();
    assert.equal(await ran.code, 0, ran.stderr);
    assert.match(ran.stderr, /end\n\S+ info {2}line 0\n\S+ warn {2}last \[2J\n$/);
    assert.deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
    leaving.abort();
    session.service.pin(false);
  });
});

/** A server before a service, as a proxy is. */
interface Front {
  readonly url: string;
  /** Resolves once something was asked for whose URL fits. */
  asked(expected: RegExp): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface FrontOptions {
  /** Where requests are redirected to, by the end of their URL. */
  readonly locations?: Readonly<Record<string, string>>;
  /** The first request whose URL fits gets no answer: its connection is closed. */
  readonly breaking?: RegExp;
}

async function openFront(
  to: string,
  { locations = {}, breaking }: FrontOptions = {},
): Promise<Front> {
  const urls: string[] = [];
  let hasBroken = false;
  const more = new EventTarget();
  const server = createServer((incoming, outgoing) => {
    const { url = "", method, headers } = incoming;
    urls.push(url);
    more.dispatchEvent(new Event("more"));
    if (!hasBroken && breaking?.test(url)) {
      hasBroken = true;
      return void incoming.socket.destroy();
    }
    const location = locations[url.slice(url.lastIndexOf("/"))];
    if (location !== undefined) return outgoing.writeHead(307, { location }).end();
    // Its own word for a node does not come to that.
    const wanted = new URL(url.replace(/\?of=[\w-]+$/, ""), to);
    const onward = request(wanted, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
    onward.on("error", () => outgoing.destroy());
    outgoing.once("close", () => onward.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async asked(expected) {
      const signal = AbortSignal.timeout(HUNG_MS);
      while (!urls.some((url) => expected.test(url))) await once(more, "more", { signal });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("flow run --local --log", { skip: target.skip ?? false }, () => {
  test("prints lines as they come", async () => {
    await using place = await openWorkplace({ "plugins/paced.ts": PACED });
    await using gate = await openGate();
    const input = JSON.stringify([gate.url]);
    const words = ["flow", "run", "paced", "--local", "--log", "--input", input];
    const ran = begin(words, place.folder, { XDG_CONFIG_HOME: place.folder });
    await ran.until(new RegExp(`^${LINE}0\n`, "m"));
    gate.open();
    assert.equal(await ran.code, 0, ran.stderr);
    assert.equal(ran.stdout, '"through"\n');
  });
});
