// Answers with what it is given; what it may not answer, it tells of, so that its thread stays.

interface Answering {
  readonly input_value: { readonly json?: { readonly response?: unknown } };
  webhook_response(response: unknown): unknown;
}

export default async (flow: Answering): Promise<unknown> => {
  try {
    await flow.webhook_response(flow.input_value.json?.response);
    return null;
  } catch (error) {
    return { refused: error instanceof Error ? error.message : String(error) };
  }
};
