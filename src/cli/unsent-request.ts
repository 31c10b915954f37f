import { CommandError } from "./command-error.ts";

/** Nothing was sent: no service runs there. */
export class UnreachableError extends CommandError {}

/** There is no answer, or a part of one: what was asked for may have been done. */
export class UnansweredError extends CommandError {}

/** Longest wait for an answer: that of the service's own REST connector (section 8), in milliseconds. */
export const ANSWER_MS = 30_000;

/** What people are told who waited for that long. */
export const NO_ANSWER = `No answer within ${ANSWER_MS / 1000} s`;

const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_|CERT_UNTRUSTED/;

/** Codes of OpenSSL's X509_V_ERR_*, and of the check of the name. */
const REFUSED = /^CERT_|^CRL_|^INVALID_|HOSTNAME_MISMATCH|ERR_TLS_CERT/;

const CERTIFICATE =
  "If the service's certificate is of an authority of your own, name that with --cacert FILE or " +
  "SSL_CERT_FILE";

/** A request that got no answer. */
export interface Unanswered {
  readonly url: string;
  /** When it was sent, as performance.now(). */
  readonly sentAt: number;
  /** Whether there was an answer before: HTTP is spoken there. */
  readonly isKnown: boolean;
  /** Whether it asks for something to be done. */
  readonly isAct: boolean;
  /** What to do where nobody is there. */
  readonly advice: string;
}

/** Code of a connection that was closed before the answer. */
const BROKE_OFF = "UND_ERR_SOCKET";

/** Deno has no code for it. */
const BROKE_OFF_WORDS = "connection closed before message completed";

/** What waits for TLS ends a connection without it within so long, in milliseconds. */
const AT_ONCE_MS = 1000;

/**
 * Why a request got no answer: it cannot be sent as it is, the certificate is refused, nobody is
 * there, or the connection broke.
 *
 * @param at when, as performance.now()
 */
export function toUnsentError(
  error: Error,
  request: Unanswered,
  at = performance.now(),
): CommandError {
  const { url, sentAt, isKnown, isAct, advice } = request;
  const { cause } = error;
  const { code = "" } = (cause ?? {}) as NodeJS.ErrnoException;
  const reason = reasonOf(error);
  if (cause === undefined || /^UND_ERR_(INVALID_ARG|NOT_SUPPORTED|REQ_)/.test(code))
    return new CommandError(`Cannot send the request: ${reason}`, 2);
  const { origin, protocol } = new URL(url);
  const what = `Cannot reach ${origin}: ${reason}`;
  if (UNTRUSTED.test(code)) return new CommandError(`${what}. ${CERTIFICATE}`);
  if (REFUSED.test(code)) return new CommandError(`${what}. Its certificate is refused`);
  if (/^ERR_SSL_|^EPROTO$/.test(code))
    return new CommandError(`${what}. Does it speak HTTP? Then its URL begins with "http:"`);
  if (isUnconnected(cause)) return new UnreachableError(`${what}. ${advice}`);
  const isBroken = code === BROKE_OFF || reason.includes(BROKE_OFF_WORDS);
  const doubt = isAct ? ". What was asked for may have been done" : "";
  const broke = `No answer of ${origin}: ${isBroken ? "the connection broke off" : reason}${doubt}`;
  const isRefusedAtOnce = isBroken && !isKnown && at - sentAt < AT_ONCE_MS;
  if (protocol === "http:" && (code.startsWith("HPE_") || isRefusedAtOnce)) {
    const told = isAct && isBroken ? broke : what;
    return new UnansweredError(`${told}. Does it speak HTTPS? Then its URL begins with "https:"`);
  }
  return new UnansweredError(broke);
}

/** Whether there was no connection: all else may come after the request was sent. */
function isUnconnected(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.every(isUnconnected);
  const { code, syscall = "", message } = cause as NodeJS.ErrnoException;
  if (code === "UND_ERR_CONNECT_TIMEOUT" || /^(connect|getaddrinfo)$/.test(syscall)) return true;
  // Of a port that fetch calls nowhere, and of Deno.
  return message === "bad port" || message.includes("client error (Connect)");
}

/** How Node itself is started is nothing that users of this program choose. */
export const NODE_ADVICE = /; if the root CA is installed locally.*$/;

/** Why no answer came: the system's words are in the cause. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  const words = cause.message.replace(NODE_ADVICE, "");
  return words || (cause as NodeJS.ErrnoException).code || message;
}

/**
 * An answer's body, read to its end.
 *
 * @throws UnansweredError where it breaks off
 */
export async function readBody<T>(answer: Response, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if ((error as Error).name === "TimeoutError") throw error;
    const from = URL.parse(answer.url)?.origin ?? "the service";
    throw new UnansweredError(`The answer of ${from} broke off: ${reasonOf(error as Error)}`);
  }
}
