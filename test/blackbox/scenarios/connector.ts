import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { runCommand } from "../command.ts";
import type { Group } from "../scenario.ts";

/** A stand-in for a service, so that the connector can be led around. */
async function withServer(
  listener: RequestListener,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    await use(`http://127.0.0.1:${port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Redirects `times` times to itself, then answers. */
function redirecting(times: number, seen: string[]): RequestListener {
  return (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    if (seen.length <= times) {
      const location = `./call?__wait_execution_id=${seen.length}`;
      response.writeHead(seen.length === 1 ? 303 : 302, { location }).end();
      return;
    }
    response.writeHead(200, { "content-type": "application/json" }).end('{"arrived":true}');
  };
}

export const CONNECTOR: Group = {
  name: "connector",
  flows: ["echo", "sleep", "answer"],
  webhooks: { echo: { flow: "echo" }, sleep: { flow: "sleep" }, answer: { flow: "answer" } },
  rows: [
    {
      name: "flowhook call follows the redirects to the result",
      covers: ["4.4 connector", "4.4 total"],
      async run(service) {
        const { code, stdout, stderr } = await runCommand(
          service.target,
          ["call", "echo", "--data", '{"n":1}'],
          { env: { FLOWHOOK_URL: service.url }, cwd: service.directory },
        );
        assert.equal(code, 0, stderr);
        assert.match(stdout, /"json":\s*\{\s*"n":\s*1\s*\}/);
        assert.match(stdout, /"method":\s*"POST"/);
      },
    },
    {
      name: "flowhook call fails where the flow fails",
      covers: ["4.4 connector"],
      async run(service) {
        const { code, stdout, stderr } = await runCommand(
          service.target,
          ["call", "answer", "--data", '{"steps":[{"fail":"no stock"}]}'],
          { env: { FLOWHOOK_URL: service.url }, cwd: service.directory },
        );
        assert.equal(code, 1);
        assert.match(stdout + stderr, /ENDED_ERROR: no stock/);
      },
    },
    {
      name: "ten redirects are followed",
      covers: ["8 connector redirects", "4.4 connector"],
      async run(service) {
        const seen: string[] = [];
        await withServer(redirecting(10, seen), async (url) => {
          const { code, stdout, stderr } = await runCommand(service.target, ["call", "far"], {
            env: { FLOWHOOK_URL: url },
            cwd: service.directory,
          });
          assert.equal(code, 0, stderr);
          assert.match(stdout, /arrived/);
          assert.equal(seen.length, 11);
        });
      },
    },
    {
      name: "an eleventh redirect is not",
      covers: ["8 connector redirects"],
      async run(service) {
        const seen: string[] = [];
        await withServer(redirecting(11, seen), async (url) => {
          const { code, stderr } = await runCommand(service.target, ["call", "far"], {
            env: { FLOWHOOK_URL: url },
            cwd: service.directory,
          });
          assert.equal(code, 1);
          assert.match(stderr, /redirect/i);
          assert.equal(seen.length, 11);
        });
      },
    },
  ],
};

/** Takes 30 s of waiting. */
export const CONNECTOR_TIMEOUT: Group = {
  name: "connector time-out",
  rows: [
    {
      name: "all legs together take at most 30 seconds",
      covers: ["8 connector total"],
      async run(service) {
        const started = performance.now();
        let calls = 0;
        let called = Infinity;
        function slow(_: unknown, response: Parameters<RequestListener>[1]): void {
          calls += 1;
          called = Math.min(called, performance.now());
          const location = `./call?__wait_execution_id=${calls}`;
          setTimeout(() => response.writeHead(302, { location }).end(), 11_000).unref();
        }
        await withServer(slow, async (url) => {
          const { code, stderr } = await runCommand(service.target, ["call", "far"], {
            env: { FLOWHOOK_URL: url },
            cwd: service.directory,
            deadlineMs: 90_000,
          });
          assert.equal(code, 1);
          assert.match(stderr, /30 ?s|time/i);
          // It counts from a moment between its start and its first call, and may end slowly itself.
          const [most, took] = [started, called].map((at) => (performance.now() - at) / 1000);
          assert.ok(Number(most) > 29 && Number(took) < 40, `took ${took} to ${most} s`);
        });
      },
    },
  ],
};
