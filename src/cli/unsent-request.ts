import { CommandError } from "./command-error.ts";

/** There is no answer: no service runs there. */
export class UnreachableError extends CommandError {}

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
 * Why a request got no answer: it cannot be sent as it is, the certificate is refused, or nobody
 * answers.
 *
 * @param advice for the last of these
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
  if (protocol === "http:" && /^HPE_|^UND_ERR_SOCKET$/.test(code))
    return new CommandError(`${what}. Does it speak HTTPS? Then its URL begins with "https:"`);
  return new UnreachableError(`${what}. ${advice}`);
}

/** Why no answer came: the system's words are in the cause. */
function reasonOf({ message, cause }: Error): string {
  if (!(cause instanceof Error)) return message;
  return cause.message || (cause as NodeJS.ErrnoException).code || message;
}

/**
 * An answer's body, read to its end.
 *
 * @throws CommandError where it breaks off
 */
export async function readBody<T>(answer: Response, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if ((error as Error).name === "TimeoutError") throw error;
    const from = URL.parse(answer.url)?.origin ?? "the service";
    throw new CommandError(`The answer of ${from} broke off: ${reasonOf(error as Error)}`);
  }
}
