import type { MessagePort } from "node:worker_threads";
import { IS_DENO } from "../intrinsics.ts";

/** What both runtimes' ports have: Node's are also emitters, Deno's are only the web's. */
type WebPort = { onmessage: ((event: { data: unknown }) => void) | null };

/** Starts to receive. */
export function listen(port: MessagePort, receive: (message: unknown) => void): void {
  if ("on" in port && !IS_DENO) port.on("message", receive);
  else (port as unknown as WebPort).onmessage = ({ data }) => receive(data);
}
