import * as v from "valibot";
import { EXECUTION } from "../../shared/contract/execution.ts";
import { waitFor } from "../executions/wait.ts";
import { isEnded } from "../../shared/contract/status.ts";
import { RequestError } from "../../shared/errors.ts";
import { getBundle } from "./bundle.ts";
import { answerExecution, getExecution, requireExecution } from "./execution.ts";
import { getFlow } from "./flow.ts";
import { getProject } from "./project.ts";
import { getRole } from "./role.ts";
import { defineRoute, type Answer, type Route } from "./route.ts";
import { getSecret } from "./secret.ts";
import { getSetting } from "./setting.ts";
import { getUser } from "./user.ts";
import { getWebhook } from "./webhook.ts";
import { requirePermission, requireStill } from "./access.ts";

/** The wait endpoints: the mechanism of section 4.4 for the management API. */

export const waitExecution = defineRoute({
  method: "GET",
  path: "/execution/:id/wait",
  summary: "Wait until an execution has ended: 302 to itself after each poll window",
  needs: "execution.read",
  answer: EXECUTION,
  async act(api, { principal, params, outgoing }) {
    const row = await requireExecution(api, principal, params["id"] ?? "");
    const live = isEnded(row.status) ? undefined : api.executions.findAnywhere(row);
    if (live !== undefined) {
      // A disconnect here cancels nothing (contract, section 4, number 9).
      const rules = { executions: api.executions, isCancelling: false };
      const waited = await waitFor(rules, live, outgoing, api.windowMs);
      if (waited === "unfinished" || waited === "stopping") return redirectTo("./wait");
    }
    const ended = await requireExecution(api, await requireStill(api.logins, principal), row.id);
    return { status: 200, text: await answerExecution(api, ended) };
  },
});

/** How each type of resource is read. */
const READ: Readonly<Record<string, Route>> = {
  bundle: getBundle,
  execution: getExecution,
  flow: getFlow,
  project: getProject,
  role: getRole,
  secret: getSecret,
  setting: getSetting,
  user: getUser,
  webhook: getWebhook,
};

/** Whichever was named. */
const RESOURCE = v.union(
  Object.values(READ).map(({ answer }) => answer as v.GenericSchema<unknown>),
);

export const waitOperation = defineRoute({
  method: "GET",
  path: "/:type/:id/wait-operation",
  summary: "Wait until no operation on a resource is in progress, then read it",
  needs: "login",
  answer: RESOURCE,
  async act(api, request) {
    const { type = "", id = "" } = request.params;
    const route = Object.hasOwn(READ, type) ? READ[type] : undefined;
    if (route === undefined) throw new RequestError("not_found", `There is no type "${type}"`);
    requirePermission(request.principal, route.needs);
    if (type === "execution") {
      const answer = await waitExecution.act(api, request as never);
      return answer.status === 302 ? redirectTo("./wait-operation") : answer;
    }
    if (type === "flow" && !(await within(api.catalog.idle(), api.windowMs)))
      return redirectTo("./wait-operation");
    const principal = await requireStill(api.logins, request.principal);
    requirePermission(principal, route.needs);
    return route.act(api, { ...request, principal, params: { name: id } } as never);
  },
});

function redirectTo(location: string): Answer<never> {
  return { status: 302, headers: { location, "cache-control": "no-store" } };
}

/** Whether something has come to its end within a time. */
async function within(ended: Promise<void>, ms: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  ended.then(() => resolve(true), reject);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
