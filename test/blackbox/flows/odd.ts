// What JSON cannot carry into a flow: strange values returned, thrown and answered.

interface Odd {
  readonly input_value: { readonly query: { readonly case?: string } };
  readonly signal: AbortSignal;
  webhook_response(response: unknown): unknown;
  webhook_json_response(body: unknown): unknown;
}

function cycle(): object {
  const self: { self?: object } = {};
  self.self = self;
  return self;
}

const CASES: Record<string, (flow: Odd) => unknown> = {
  undefined: () => undefined,
  bigint: () => ({ big: 10n }),
  cycle,
  function: () => () => 1,
  throwing_json: () => ({ toJSON: () => fail(new Error("no JSON of me")) }),
  proto: () => JSON.parse('{"__proto__":{"polluted":true},"a":1}') as unknown,
  throw_null: () => fail(null),
  throw_undefined: () => fail(undefined),
  throw_string: () => fail("just a text"),
  throw_object: () => fail({ code: 7 }),
  throw_long: () => fail(new Error("m".repeat(10_000))),
  throw_wide: () => fail(new Error("€".repeat(4000))),
  throw_pairs: () => fail(new Error(`x${"😀".repeat(2000)}`)),
  throw_halves: () => fail(new Error(`xx${"\uD83D\uDE00".repeat(10)}${"\uD83D".repeat(4000)}`)),
  throw_fitting: () => fail(new Error(`${"€".repeat(1365)}x`)),
  throw_hostile: () =>
    fail({
      get message(): string {
        throw new Error("gotcha");
      },
    }),
  reject_later: () => {
    setTimeout(() => void Promise.reject(new Error("left behind")), 5);
    return new Promise((resolve) => setTimeout(() => resolve("done"), 50));
  },
  status_nan: (flow) => flow.webhook_response({ status: Number.NaN, headers: {}, body: "x" }),
  status_infinite: (flow) => flow.webhook_response({ status: Infinity, headers: {}, body: "x" }),
  status_undefined: (flow) => flow.webhook_response({ headers: {}, body: "x" }),
  status_bigint: (flow) => flow.webhook_response({ status: 200n, headers: {}, body: "x" }),
  response_undefined: (flow) => flow.webhook_response(undefined),
  response_cycle: (flow) => flow.webhook_json_response(cycle()),
  response_bigint: (flow) => flow.webhook_json_response({ big: 1n }),
  exit: () => process.exit(3),
};

function fail(what: unknown): never {
  throw what;
}

export default async function (flow: Odd): Promise<unknown> {
  const run = CASES[flow.input_value.query.case ?? ""];
  if (run === undefined) throw new Error("Unknown case");
  return run(flow);
}
