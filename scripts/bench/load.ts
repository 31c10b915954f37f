import { createInterface } from "node:readline";
import autocannon from "autocannon";

/**
 * The load generator, in a process of its own: for each line with the JSON of a LoadOrder it prints
 * one with that of a LoadResult. It stays, so that its own code is compiled when it counts.
 */
export interface LoadOrder {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly body: string;
  /** The whole body that every answer must have; null where it differs from call to call. */
  readonly expected: string | null;
  /** 303 to a second leg is followed, and the chain counts once. */
  readonly is_chain: boolean;
}

export interface LoadResult {
  /** Right answers per second. */
  readonly rate: number;
  readonly answers: number;
  readonly seconds: number;
  /** When the last answer had come, in milliseconds since the epoch. */
  readonly ended_at: number;
  readonly wrong: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

const headers = { "content-type": "application/json" };

async function run(order: LoadOrder): Promise<LoadResult> {
  const { url, connections, seconds: duration, body, expected, is_chain } = order;
  const call = { method: "POST" as const, headers, body };
  const options = {
    url,
    connections,
    duration,
    ...(is_chain ? { requests: toChain(url, body) } : call),
    ...(expected === null || is_chain ? {} : { expectBody: expected }),
  };
  // Its own histogram counts whole milliseconds.
  const times: number[] = [];
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    autocannon(options, (fault, done) => (fault ? reject(fault as Error) : resolve(done))).on(
      "response",
      (_client, _status, _bytes, ms) => void times.push(ms),
    );
  });
  const ended_at = Date.now();
  times.sort((a, b) => a - b);
  const wrong = result.non2xx + result.errors + result.timeouts + result.mismatches;
  // The first legs are 303, which autocannon counts apart.
  const answers = is_chain ? result["2xx"] : result["2xx"] - result.mismatches;
  return {
    rate: answers / result.duration,
    answers,
    seconds: result.duration,
    ended_at,
    wrong: is_chain ? wrong - result["3xx"] : wrong,
    p50_ms: times[Math.floor(times.length * 0.5)] ?? Number.NaN,
    p99_ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN,
  };
}

function toChain(url: string, body: string): autocannon.Request[] {
  const { pathname } = new URL(url);
  return [
    {
      method: "POST",
      headers,
      body,
      onResponse: (_status, _body, context, answered) => {
        const { location } = answered as { location?: string };
        (context as { location?: string }).location = location ?? "";
      },
    },
    {
      method: "GET",
      setupRequest: (request, context) => {
        const { location = "" } = context as { location?: string };
        const { pathname: path, search } = new URL(location, `http://h${pathname}`);
        return { ...request, method: "GET", path: path + search, body: "" };
      },
    },
  ];
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await run(JSON.parse(line) as LoadOrder))}\n`);
