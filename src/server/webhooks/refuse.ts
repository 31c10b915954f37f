import { parseAccept } from "hono/utils/accept";
import { ERRORS, type ErrorCode } from "../../shared/contract/error.ts";
import { RequestError } from "../../shared/errors.ts";
import { toLogText } from "../../shared/log.ts";
import { toTrace } from "../request/trace.ts";
import { toRequestError } from "../store/store-error.ts";
import type { WebhookRow } from "../store/webhooks.ts";
import { LoginRequiredError } from "./authenticate.ts";
import type { Call } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { redactionOf, toRefusedCall } from "./refused-call.ts";
import { respondLogin, respondRequestError, respondUnauthorized, type Reply } from "./respond.ts";
import { KEY, withoutParameters } from "./target.ts";

/** A refused call records no execution; it is logged with its reason, and kept for a while. */
export function refuse(
  deps: CallDeps,
  call: Call,
  webhook: WebhookRow | null,
  error: unknown,
): Reply {
  const refused = toWords(deps, call, error);
  const { code, reason } = refused;
  const path = (call.incoming.url ?? "").split("?")[0] ?? "";
  deps.meters.countRefusal(code);
  logRefusal(deps, call, refused);
  const reply =
    refused.refused === null
      ? respondNoLogin(deps, call, webhook, path)
      : respondRequestError(refused.refused, path);
  if (webhook !== null) {
    const words = { code, reason, status: reply.status };
    deps.refusals.add(webhook.id, toRefusedCall(call, webhook, words));
  }
  return reply;
}

interface Words {
  readonly code: ErrorCode;
  readonly reason: string;
  /** null: a login is needed. */
  readonly refused: RequestError | null;
}

/** A warning where the service could not take the call; what is wrong with a call is its caller's. */
function logRefusal({ log }: CallDeps, call: Call, { code, reason }: Words): void {
  const level = ERRORS[code].status >= 500 ? "warn" : "info";
  const { incoming, target, address, request_id } = call;
  const redact = redactionOf(call);
  const members = {
    webhook: toLogText(redact(target.name)),
    code,
    reason: toLogText(redact(reason)),
    address,
    ...toTrace(incoming, redact(request_id)),
  };
  log[level](members, "Call refused");
}

function toWords(deps: CallDeps, call: Call, error: unknown): Words {
  if (error instanceof LoginRequiredError)
    return { code: "not_authenticated", reason: NO_LOGIN, refused: null };
  const known = toRequestError(error);
  const refused = known instanceof RequestError ? known : toInternal(deps, call, error);
  const { code, message: reason } = refused;
  return { code, reason, refused };
}

const NO_LOGIN = "The login token is missing or wrong";

function respondNoLogin(
  deps: CallDeps,
  { incoming, target }: Call,
  webhook: WebhookRow | null,
  path: string,
): Reply {
  if (!deps.isLoginRedirect || !acceptsHtml(incoming.headers.accept)) return respondUnauthorized();
  // On a webhook without a key the parameter is the flow's; a key does not belong in a Location.
  const isPlain = webhook !== null && webhook.key_hash === null;
  const query = isPlain ? target.query : withoutParameters(target.query, [KEY]);
  return respondLogin(toLogin(deps.prefix, path, query));
}

function toInternal({ log }: CallDeps, { target }: Call, error: unknown): RequestError {
  log.error({ webhook: target.name, err: error }, "Cannot answer a call");
  return new RequestError("internal", "The service failed. Its log has the reason");
}

/** By its name: whoever takes anything is no browser. */
function acceptsHtml(accept = ""): boolean {
  return parseAccept(accept).some(({ type, q }) => type.toLowerCase() === "text/html" && q > 0);
}

/** The login screen, and back to the call with its query. */
function toLogin(prefix: string, path: string, query: string): string {
  const next = query === "" ? path : `${path}?${query}`;
  return `${prefix}/ui/login?next=${encodeURIComponent(next)}`;
}
