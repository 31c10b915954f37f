/**
 * The error registry: every code with which a request can be refused, its HTTP status and title.
 * The table of the page "errors" is checked against it in both directions.
 */
export const ERRORS = {
  bad_target: { status: 400, title: "Bad request target" },
  bad_body: { status: 400, title: "Body cannot be read" },
  bad_request: { status: 400, title: "Bad request" },
  bad_idempotency_key: { status: 400, title: "Bad idempotency key" },
  not_authenticated: { status: 401, title: "Unauthorized" },
  no_active_user: { status: 402, title: "Development webhook without an active user" },
  forbidden: { status: 403, title: "Forbidden" },
  address_not_allowed: { status: 403, title: "Address not allowed" },
  wrong_password: { status: 403, title: "Password missing or wrong" },
  cross_site: { status: 403, title: "Cross-site request refused" },
  not_found: { status: 404, title: "Not found" },
  method_not_allowed: { status: 405, title: "Method not allowed" },
  body_too_slow: { status: 408, title: "Body comes too slowly" },
  request_too_slow: { status: 408, title: "Request comes too slowly" },
  conflict: { status: 409, title: "Conflict" },
  already_ended: { status: 409, title: "Execution has already ended" },
  changed_meanwhile: { status: 412, title: "Changed by somebody else" },
  body_too_large: { status: 413, title: "Body too large" },
  unsupported_type: { status: 415, title: "Unsupported content type" },
  unknown_expectation: { status: 417, title: "Unknown expectation" },
  invalid: { status: 422, title: "Invalid input" },
  invalid_input: { status: 422, title: "Input does not fit the flow's schema" },
  idempotency_mismatch: { status: 422, title: "Idempotency key of another call" },
  rate_limited: { status: 429, title: "Called too often" },
  webhook_busy: { status: 429, title: "Webhook busy" },
  too_many_attempts: { status: 429, title: "Too many failed attempts" },
  too_many_requests: { status: 429, title: "Too many requests at once" },
  allowance_used: { status: 429, title: "Connection allowance used" },
  headers_too_large: { status: 431, title: "Headers too large" },
  internal: { status: 500, title: "Internal error" },
  overloaded: { status: 503, title: "Overloaded" },
  queue_full: { status: 503, title: "Queue of executions is full" },
  shutting_down: { status: 503, title: "Shutting down" },
  store_unavailable: { status: 503, title: "Store unavailable" },
} as const satisfies Record<string, { status: number; title: string }>;

export type ErrorCode = keyof typeof ERRORS;
