import type { CustomResponse } from "../../shared/contract/execution.ts";
import { checkHeaders } from "../executions/custom-response.ts";
import type { WebhookRow } from "../store/webhooks.ts";

/** What is done to the answers of ended executions. */
export interface AnswerRules {
  /** RESPONSE_SANDBOX. */
  readonly isSandboxed: boolean;
  /** Whether the webhook says which pages may read them: the flow then cannot. */
  readonly hasCors: boolean;
  /** Headers of the webhook, where neither the flow nor the service has them. */
  readonly added: CustomResponse["headers"];
}

const NONE = {};

const SANDBOXED: AnswerRules = { isSandboxed: true, hasCors: false, added: NONE };
const OPEN: AnswerRules = { isSandboxed: false, hasCors: false, added: NONE };

/** Rows are kept until they change, and what was read of them too. */
const known = new WeakMap<WebhookRow, AnswerRules>();

export function answerRulesOf(
  { isSandboxed }: Pick<AnswerRules, "isSandboxed">,
  webhook: WebhookRow,
): AnswerRules {
  const { cors, response_headers } = webhook;
  if (cors === null && response_headers === null) return isSandboxed ? SANDBOXED : OPEN;
  const found = known.get(webhook);
  if (found !== undefined) return found;
  // RESPONSE_SANDBOX may have changed since they were set.
  const checked = checkHeaders(JSON.parse(response_headers ?? "{}"), isSandboxed);
  const added = "error" in checked ? NONE : checked.headers;
  const rules = { isSandboxed, hasCors: cors !== null, added };
  known.set(webhook, rules);
  return rules;
}
