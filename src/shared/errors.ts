import { ERRORS, type ErrorCode } from "./contract/error.ts";
import type { FieldError } from "./contract/problem.ts";

/**
 * A request refused before anything was recorded. Thrown anywhere below a door; the door
 * (webhooks/respond, api) turns it into a response.
 */
export class RequestError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: readonly FieldError[];

  /** @param detail One sentence for people: what was found, what was expected, what to do. */
  constructor(
    code: ErrorCode,
    detail: string,
    more: { headers?: Record<string, string>; fields?: FieldError[]; cause?: unknown } = {},
  ) {
    super(detail, { cause: more.cause });
    this.name = "RequestError";
    this.code = code;
    this.headers = more.headers ?? {};
    this.fields = more.fields ?? [];
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/**
 * Problem details (RFC 9457).
 *
 * @param instance path of the request, without its query: that may carry a key
 */
export function toProblem(refused: RequestError, instance: string): Record<string, unknown> {
  const { status, title } = ERRORS[refused.code];
  return {
    type: `urn:flowhook:error:${refused.code}`,
    title,
    status,
    detail: refused.message,
    instance,
    ...(refused.fields.length === 0 ? {} : { errors: refused.fields }),
  };
}

/** The service cannot start, for a reason that an operator can mend: one line, no stack. */
export class StartError extends Error {
  /** 78: the configuration has to be changed first (EX_CONFIG of sysexits.h). */
  readonly exitCode: 1 | 78;

  constructor(message: string, exitCode: 1 | 78 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
