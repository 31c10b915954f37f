import { RequestError } from "../../shared/errors.ts";
import { toTrace } from "../request/trace.ts";
import { toRequestError } from "../store/store-error.ts";
import { LoginRequiredError } from "./authenticate.ts";
import type { Call } from "./call.ts";
import type { CallDeps } from "./call-deps.ts";
import { respondLogin, respondRequestError, respondUnauthorized, type Reply } from "./respond.ts";
import { KEY, withoutParameters } from "./target.ts";

/** A refused call records no execution; it is logged with its reason. */
export function refuse(deps: CallDeps, call: Call, error: unknown): Reply {
  const { incoming, target } = call;
  const trace = toTrace(incoming, call.request_id);
  const path = (incoming.url ?? "").split("?")[0] ?? "";
  if (error instanceof LoginRequiredError) {
    deps.meters.countRefusal("not_authenticated");
    deps.log.info({ webhook: target.name, code: "not_authenticated", ...trace }, "Call refused");
    const acceptsHtml = incoming.headers.accept?.includes("text/html") === true;
    return deps.isLoginRedirect && acceptsHtml
      ? respondLogin(toLogin(deps.prefix, path, target.query))
      : respondUnauthorized();
  }
  const known = toRequestError(error);
  const refused = known instanceof RequestError ? known : toInternal(deps, call, error);
  const { code, message } = refused;
  deps.meters.countRefusal(code);
  deps.log.info({ webhook: target.name, code, reason: message, ...trace }, "Call refused");
  return respondRequestError(refused, path);
}

function toInternal({ log }: CallDeps, { target }: Call, error: unknown): RequestError {
  log.error({ webhook: target.name, err: error }, "Cannot answer a call");
  return new RequestError("internal", "The service failed. Its log has the reason");
}

/** The login screen, and back to the call with its query; a key does not belong in a Location. */
function toLogin(prefix: string, path: string, query: string): string {
  const kept = withoutParameters(query, [KEY]);
  const next = kept === "" ? path : `${path}?${kept}`;
  return `${prefix}/ui/login?next=${encodeURIComponent(next)}`;
}
