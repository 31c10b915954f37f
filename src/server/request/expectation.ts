import type { IncomingMessage, ServerResponse } from "node:http";

const ASK = Symbol("ask");

interface AwaitedRequest extends IncomingMessage {
  [ASK]?: (() => void) | undefined;
}

/** What the server takes for it, among others. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

export function isContinue(expect: string): boolean {
  return CONTINUE.test(expect);
}

/**
 * A client that sends `Expect: 100-continue` waits with its body until it is asked for it (RFC 9110,
 * section 10.1.1). It is asked once somebody reads the body: what is refused before is never sent.
 */
export function holdContinue(incoming: AwaitedRequest, outgoing: ServerResponse): void {
  const ask = (): void => {
    if (!outgoing.headersSent) outgoing.writeContinue();
  };
  // Behind an answer that is still under way it would stand within its own.
  incoming[ASK] = () => void (outgoing.socket === null ? outgoing.once("socket", ask) : ask());
}

/** Asks for the body, where its client waits for that. */
export function askForBody(incoming: AwaitedRequest): void {
  incoming[ASK]?.();
  incoming[ASK] = undefined;
}
