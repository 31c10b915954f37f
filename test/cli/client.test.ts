import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, mock, test } from "node:test";
import { createClient, type RequestOptions } from "../../src/cli/client.ts";
import { CommandError } from "../../src/cli/command-error.ts";

describe("a server that takes a request and does not answer", () => {
  const server = createServer();
  let url = "";
  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Sends a request, and lets half a minute pass once it is there. */
  async function outwait(options: RequestOptions) {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const reached = once(server, "request");
      const answer = createClient({ url, token: null }).request("GET", "/flow", options);
      const settled = answer.then(
        ({ status }) => status,
        (error: unknown) => error,
      );
      const [, response] = (await reached) as [unknown, ServerResponse];
      mock.timers.tick(30_000);
      return { settled, response };
    } finally {
      mock.timers.reset();
    }
  }

  test("is left after 30 s", async () => {
    const { settled } = await outwait({});
    const error = await settled;
    assert.ok(error instanceof CommandError, String(error));
    assert.equal(error.message, `No answer within 30 s at ${url}. Is the URL right?`);
    assert.equal(error.exitCode, 1);
  });

  const LONG: Readonly<Record<string, RequestOptions>> = {
    "a wait": { mayRedirect: true },
    "what may take long": { mayTakeLong: true },
  };
  for (const [name, options] of Object.entries(LONG))
    test(`is waited for longer: ${name}`, async () => {
      const { settled, response } = await outwait(options);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      assert.equal(await settled, 200);
    });
});
