import type { MessagePort } from "node:worker_threads";

/** What both runtimes' ports have: Node's are also emitters, Deno's are only the web's. */
type WebPort = { onmessage: ((event: { data: unknown }) => void) | null };

/** Starts to receive. */
export function listen(port: MessagePort, receive: (message: unknown) => void): void {
  if ("on" in port && !("Deno" in globalThis)) port.on("message", receive);
  else (port as unknown as WebPort).onmessage = ({ data }) => receive(data);
}
