import * as v from "valibot";
import type { Route } from "../../src/server/api/route.ts";
import { ROUTES } from "../../src/server/api/routes.ts";
import { ERRORS } from "../../src/shared/contract/error.ts";
import { PROBLEM } from "../../src/shared/contract/problem.ts";

/** What was answered, as far as a description says something about it. */
export interface Answered {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** The route of a request, as the router finds it: by method, the first whose path fits. */
export function findRoute(method: string, path: string): Route | undefined {
  const [plain = ""] = path.split("?");
  return ROUTES.find((route) => route.method === method && toPattern(route).test(plain));
}

function toPattern({ path }: Route): RegExp {
  return new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`);
}

/** Throws where an answer is not as the route's schema, or the problem schema, describes it. */
export function assertDescribed(method: string, path: string, answered: Answered): void {
  const route = findRoute(method, path);
  const error =
    answered.status >= 400 ? findProblemError(answered) : findAnswerError(route, answered);
  if (error === null) return;
  throw new Error(`${method} ${path} answered ${answered.status}: ${error}\n${answered.text}`);
}

function findProblemError({ status, type, text }: Answered): string | null {
  if (!type.startsWith("application/problem+json")) return `it is of type "${type}"`;
  const problem = v.safeParse(PROBLEM, JSON.parse(text));
  if (!problem.success) return toText(problem.issues);
  const code = problem.output.type.replace("urn:flowhook:error:", "");
  const known = Object.entries(ERRORS).find(([name]) => name === code)?.[1];
  if (known?.status !== status || known.title !== problem.output.title)
    return `the registry says otherwise about "${code}"`;
  return null;
}

function findAnswerError(route: Route | undefined, answered: Answered): string | null {
  const { status, type, text } = answered;
  if (route === undefined) return "there is no such route";
  if (status === 302) return /\/wait(-operation)?$/.test(route.path) ? null : "it redirects";
  if (status !== route.status) return `it is to answer ${route.status}`;
  if (status === 204) return text === "" ? null : "it has a body";
  if (route.type !== null)
    return route.type === "*/*" || type.startsWith(route.type) ? null : `it is of type "${type}"`;
  if (!type.startsWith("application/json")) return `it is of type "${type}"`;
  if (route.answer === null) return null;
  const result = v.safeParse(route.answer, JSON.parse(text));
  return result.success ? null : toText(result.issues);
}

function toText(issues: readonly v.BaseIssue<unknown>[]): string {
  return issues.map((issue) => `${v.getDotPath(issue) ?? ""}: ${issue.message}`).join("; ");
}
