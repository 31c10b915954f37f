interface WithRawBody {
  readonly raw_body?: string;
}

export default function (flow: WithRawBody): unknown {
  return { raw_body: flow.raw_body ?? null };
}
