import { text } from "node:stream/consumers";
import autocannon from "autocannon";

/**
 * The load generator where wrk is missing: the same arguments (URL, connections, seconds, and
 * "chain" or a number), the same body by standard input, the same line of JSON as load.lua.
 */
const [url = "", connections, seconds, mode] = process.argv.slice(2);
const isChain = mode === "chain";
const headers = { "content-type": "application/json" };
const call = { method: "POST" as const, headers, body: await text(process.stdin) };

const firstLeg: autocannon.Request = {
  ...call,
  onResponse: (_status, _body, context, answer) =>
    void Object.assign(context, { location: (answer as { location?: string }).location }),
};
const secondLeg: autocannon.Request = {
  method: "GET",
  setupRequest: (request, context) => {
    const { pathname, search } = new URL((context as { location?: string }).location ?? "", url);
    return { ...request, method: "GET", path: pathname + search, body: "" };
  },
};

/** One call of each webhook. */
const turns = Array.from({ length: Number(mode) }, (_, at) => ({
  ...call,
  path: new URL(url).pathname.replace("echo0", `echo${at}`),
}));

function toRequests(): Partial<autocannon.Options> {
  if (mode === undefined) return call;
  return { requests: isChain ? [firstLeg, secondLeg] : turns };
}

/** Milliseconds; autocannon's own histogram counts whole ones. */
const times: number[] = [];
const result = await new Promise<autocannon.Result>((resolve, reject) => {
  const options = {
    url,
    connections: Number(connections),
    duration: Number(seconds),
    ...toRequests(),
  };
  autocannon(options, (error, done) => (error ? reject(error as Error) : resolve(done))).on(
    "response",
    (_client, _status, _bytes, ms) => void times.push(ms),
  );
});
times.sort((a, b) => a - b);
// The first legs are 303, which autocannon counts apart.
const wrong = result.non2xx + result.errors + result.timeouts - (isChain ? result["3xx"] : 0);
process.stdout.write(
  `${JSON.stringify({
    answers: result["2xx"],
    wrong,
    seconds: result.duration,
    p50_ms: times[Math.floor(times.length * 0.5)],
    p99_ms: times[Math.floor(times.length * 0.99)],
  })}\n`,
);
