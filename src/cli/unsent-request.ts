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

/**
 * Why a request got no answer: it cannot be sent as it is, the certificate is refused, nobody is
 * there, or the connection broke.
 *
 * @param advice where nobody is there
 */
export function toUnsentError(url: string, error: Error, advice: string): CommandError {
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
  if (protocol === "http:" && /^HPE_|^UND_ERR_SOCKET$/.test(code))
    return new UnansweredError(`${what}. Does it speak HTTPS? Then its URL begins with "https:"`);
  return new UnansweredError(`No answer of ${origin}: ${reason}`);
}

/** Whether there was no connection: all else may come after the request was sent. */
function isUnconnected(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.every(isUnconnected);
  const { code, syscall = "", message } = cause as NodeJS.ErrnoException;
  if (code === "UND_ERR_CONNECT_TIMEOUT" || /^(connect|getaddrinfo)$/.test(syscall)) return true;
  // Of a port that fetch calls nowhere, and of Deno.
  return message === "bad port" || message.includes("client error (Connect)");
}

/** Why no answer came: the system's words are in the cause. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  return cause.message || (cause as NodeJS.ErrnoException).code || message;
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
