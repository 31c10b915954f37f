import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Counts the flows that are with it at the same time; each stays for a while. */
export async function openMeeting() {
  const present = new Set<object>();
  const seen = { most: 0, left: 0 };
  const server = createServer((request, response) => {
    present.add(response);
    seen.most = Math.max(seen.most, present.size);
    const timer = setTimeout(() => response.end("met"), Number(request.url?.slice(1)));
    response.once("close", () => {
      clearTimeout(timer);
      present.delete(response);
      seen.left += 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    seen,
    query: (ms: number) => `gate=${encodeURIComponent(`http://127.0.0.1:${port}/${ms}`)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
