// Does what the request's payload says, so that a scenario can state a flow's answer as data.

interface Step {
  webhook_response?: unknown;
  webhook_html_response?: unknown;
  webhook_json_response?: unknown;
  status_message?: string;
  log?: string;
  fail?: string;
  /** What it throws is caught. */
  caught?: Step;
}

interface Answering {
  readonly input_value: {
    readonly json?: { readonly steps?: readonly Step[]; readonly output?: unknown };
  };
  readonly log: { info(text: string): void };
  webhook_response(response: unknown): unknown;
  webhook_html_response(body: unknown): unknown;
  webhook_json_response(body: unknown): unknown;
  set_status_message(text: string): unknown;
}

export default async function (flow: Answering): Promise<unknown> {
  const { steps = [], output = null } = flow.input_value.json ?? {};
  for (const step of steps) await take(flow, step);
  return output;
}

async function take(flow: Answering, step: Step): Promise<void> {
  if ("webhook_response" in step) await flow.webhook_response(step.webhook_response);
  if ("webhook_html_response" in step) await flow.webhook_html_response(step.webhook_html_response);
  if ("webhook_json_response" in step) await flow.webhook_json_response(step.webhook_json_response);
  if (step.status_message !== undefined) await flow.set_status_message(step.status_message);
  if (step.log !== undefined) flow.log.info(step.log);
  if (step.caught !== undefined) await take(flow, step.caught).catch(() => {});
  if (step.fail !== undefined) throw new Error(step.fail);
}
