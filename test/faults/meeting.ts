import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** Turns of the loop in which the end of a connection is told that came before something else. */
const TURNS = 10;

/** Counts the flows that are with it at the same time; each stays for a while. */
export async function openMeeting() {
  const present = new Set<ServerResponse>();
  const seen = { most: 0, left: 0 };
  const server = createServer((request, response) => {
    present.add(response);
    response.once("close", () => {
      present.delete(response);
      seen.left += 1;
    });
    void meet(response, Number(request.url?.slice(1)));
  });
  const meet = async (response: ServerResponse, ms: number): Promise<void> => {
    const there = [...present];
    // One that was killed or cancelled before this one came may be told of after it.
    for (let at = 0; at < TURNS; at += 1) await turn();
    const staying = there.filter((one) => one.writableEnded || !one.destroyed);
    seen.most = Math.max(seen.most, staying.length);
    if (response.closed) return;
    const timer = setTimeout(() => end(response), ms);
    response.once("close", () => clearTimeout(timer));
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    seen,
    query: (ms: number) => `gate=${encodeURIComponent(`http://127.0.0.1:${port}/${ms}`)}`,
    /** Whoever is there goes on. */
    part: () => present.forEach(end),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function end(response: ServerResponse): void {
  if (!response.writableEnded) response.end("met");
}
