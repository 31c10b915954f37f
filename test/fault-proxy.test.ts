import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { openFaultProxy } from "./fault-proxy.ts";

/** The proxy of faults, whose own faults would be taken for those of the service. */

async function openThrough(opened: AsyncDisposableStack) {
  const server = createServer((socket) => socket.on("error", () => {}));
  opened.defer(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = await openFaultProxy(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const { hostname, port } = new URL(proxy.through("tcp://there"));
  const connected = once(server, "connection") as Promise<[Socket]>;
  const client = connect({ host: hostname, port: Number(port) }).on("error", () => {});
  opened.defer(() => void client.destroy());
  const [behind] = await connected;
  opened.defer(() => void behind.destroy());
  return { proxy, client, behind };
}

/** With or without an error. */
function untilClosed(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once("close", resolve));
}

for (const leave of ["end", "resetAndDestroy"] as const)
  test(`a client is told late that its server has left, by ${leave}`, async () => {
    await using opened = new AsyncDisposableStack();
    const { proxy, client, behind } = await openThrough(opened);
    proxy.hold();
    const left = untilClosed(behind);
    behind[leave]();
    behind.destroy();
    await left;
    const closed = untilClosed(client.resume());
    proxy.open();
    await closed;
    await proxy.close();
  });

test("it closes with what was held, though one side has left", async () => {
  await using opened = new AsyncDisposableStack();
  const { proxy, client, behind } = await openThrough(opened);
  proxy.hold();
  const left = untilClosed(behind);
  behind.resetAndDestroy();
  await left;
  const closed = untilClosed(client.resume());
  await proxy.close();
  await closed;
});
