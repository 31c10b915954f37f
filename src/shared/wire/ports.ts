import type { MessagePort } from "node:worker_threads";

/** What both runtimes' ports have: Node's are also emitters, Deno's are only the web's. */
type WebPort = EventTarget & { onmessage: ((event: { data: unknown }) => void) | null };

/** Starts to receive. @param closed called where the runtime tells that the other end is gone */
export function listen(
  port: MessagePort,
  receive: (message: unknown) => void,
  closed?: () => void,
): void {
  const web = port as unknown as WebPort;
  if (closed !== undefined) web.addEventListener("close", closed);
  if ("on" in port && !("Deno" in globalThis)) port.on("message", receive);
  else web.onmessage = ({ data }) => receive(data);
}
