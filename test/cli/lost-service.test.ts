import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { createClient, type Client } from "../../src/cli/client.ts";
import { followLog, waitForEnd } from "../../src/cli/follow.ts";
import { UnansweredError } from "../../src/cli/unsent-request.ts";

/** A service that takes connections, and answers no more: frozen, or cut off. */

const limits = { silentMs: 60, legMs: 60, answerMs: 60, lostMs: 100 };

interface Frozen {
  readonly client: Client;
  readonly asked: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** @param answered what it says still, by the end of the URL */
async function openFrozen(answered: Readonly<Record<string, object>> = {}): Promise<Frozen> {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, outgoing) => {
    const last = url.slice(url.lastIndexOf("/"));
    asked.push(last);
    const body = answered[last];
    if (body === undefined) return;
    outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    client: createClient({ url, token: null }),
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const take = (): void => assert.fail("there is no log");

describe("a service that answers no more", () => {
  const { signal } = new AbortController();

  test("is not waited for without end", async () => {
    await using frozen = await openFrozen();
    await assert.rejects(waitForEnd(frozen.client, "x", signal, limits), UnansweredError);
  });

  test("is not followed without end", async () => {
    await using frozen = await openFrozen();
    const following = { signal, take, limits };
    await assert.rejects(followLog(frozen.client, "x", following), UnansweredError);
    assert.deepEqual(new Set(frozen.asked), new Set(["/events"]));
  });

  test("is there where it holds a wait for longer, and tells an end", async () => {
    const ended = { id: "x", status: "ENDED_SUCCESS" };
    await using frozen = await openFrozen({ "/x": ended });
    assert.deepEqual(await waitForEnd(frozen.client, "x", signal, limits), ended);
    assert.deepEqual(frozen.asked, ["/wait", "/x"]);
  });
});
