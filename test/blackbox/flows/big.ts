interface Big {
  readonly input_value: { readonly query: { readonly bytes?: string; readonly as?: string } };
  webhook_response(response: unknown): unknown;
}

/** An output, or a custom response, of as many bytes as the query says. */
export default async function (flow: Big): Promise<unknown> {
  const body = "x".repeat(Number(flow.input_value.query.bytes ?? 0));
  if (flow.input_value.query.as !== "response") return body;
  await flow.webhook_response({ status: 200, headers: { "content-type": "text/plain" }, body });
  return null;
}
