import type { CallRow } from "../scenario.ts";
import { answering, broken, PLAIN, response } from "./answering.ts";

export const STATUS_ROWS: CallRow[] = [
  199,
  100,
  101,
  103,
  99,
  0,
  -1,
  600,
  1000,
  200.5,
  null,
  "200",
  "OK",
  true,
  [200],
  {},
].map((status) =>
  broken(
    `a status of ${JSON.stringify(status)}`,
    status === null ? ["7 null status", "C11 status"] : ["C11 status", "C11 survives"],
    response(status),
    /status/i,
  ),
);

export const HEADER_ROWS: CallRow[] = [
  ...[
    { "x a": "1" },
    { "x:a": "1" },
    { "": "1" },
    { "x\r\nset-cookie": "a=1" },
    { "x\u0000": "1" },
    { größe: "1" },
    { "x(a)": "1" },
  ].map((headers) =>
    broken(
      `a header named ${JSON.stringify(Object.keys(headers)[0])}`,
      ["C11 headers"],
      response(200, headers),
      /header/i,
    ),
  ),
  ...["a\r\nset-cookie: b=1", "a\nb", "a\rb", "a\u0000b", "price 5 €", "a\u007fb"].map((value) =>
    broken(
      `a header value ${JSON.stringify(value)}`,
      ["C11 headers", "C11 survives"],
      response(200, { "x-a": value }),
      /header/i,
    ),
  ),
  ...[5, null, { a: 1 }].map((value) =>
    broken(
      `a header value that is no text: ${JSON.stringify(value)}`,
      ["C11 headers"],
      response(200, { "x-a": value }),
      /header/i,
    ),
  ),
  broken("headers that are a list", ["C11 headers"], response(200, ["x-a: 1"]), /header/i),
  broken("headers that are a text", ["C11 headers"], response(200, "x-a: 1"), /header/i),
  ...[{ a: 1 }, 5, ["x"]].map((body) =>
    broken(
      `a body that is no text: ${JSON.stringify(body)}`,
      ["C11 survives"],
      response(200, PLAIN, body),
      /body/i,
    ),
  ),
  ...[null, "text", 7].map((whole) =>
    broken(
      `a response that is ${JSON.stringify(whole)}`,
      ["C11 survives"],
      { webhook_response: whole },
      /./,
    ),
  ),
  broken(
    "an HTML body that is no text",
    ["C11 survives"],
    { webhook_html_response: { a: 1 } },
    /./,
  ),
];

export const CAUGHT_ROWS: CallRow[] = [
  ...[
    response(700),
    response(200, { "x-a": 5 }),
    response(200, PLAIN, { a: 1 }),
    { webhook_html_response: 5 },
  ].map((step) => broken(`caught: ${JSON.stringify(step)}`, ["C11 status"], { caught: step }, /./)),
  broken("a status that is caught", ["C11 status"], { caught: response(700) }, /from 200 to 599/),
  answering(
    "a wrong response that is caught is the last one",
    ["C11 status", "C11 last counts"],
    [response(200), { caught: response(700) }],
    { status: 500, execution: { status: "ENDED_ERROR", status_message: /700/ } },
  ),
  answering(
    "a right response takes the place of a wrong one that is caught",
    ["C11 last counts"],
    [{ caught: response(700) }, response(202)],
    { status: 202, body: { text: "custom body" } },
  ),
];

function leftOut(
  name: string,
  covers: CallRow["covers"],
  headers: Record<string, string>,
  absent: readonly string[],
): CallRow {
  return answering(name, covers, [response(200, { ...headers, "x-kept": "yes" })], {
    status: 200,
    headers: { "x-kept": "yes", ...Object.fromEntries(absent.map((one) => [one, null])) },
    body: { text: "custom body" },
    log: new RegExp(Object.keys(headers)[0] ?? "", "i"),
  });
}

export const LEFT_OUT_ROWS: CallRow[] = [
  ...[
    "Transfer-Encoding: chunked",
    "Keep-Alive: timeout=99",
    "TE: trailers",
    "Trailer: x",
    "Upgrade: h2c",
    "Proxy-Authenticate: Basic",
    "Proxy-Connection: x",
  ].map((line) => {
    const [header = "", value = ""] = line.split(": ");
    const sent = ["transfer-encoding", "keep-alive"].includes(header.toLowerCase());
    return leftOut(
      `${header} is left out`,
      ["C11 connection"],
      { [header]: value },
      sent ? [] : [header.toLowerCase()],
    );
  }),
  answering(
    "a wrong Content-Length is left out",
    ["C11 connection", "C11 survives"],
    [response(200, { "Content-Length": "3" })],
    { status: 200, body: { text: "custom body" }, log: /content-length/i },
  ),
  answering(
    "a Connection header is left out",
    ["C11 connection"],
    [response(200, { Connection: "upgrade" })],
    { status: 200, headers: { connection: /^(close|keep-alive)$/ }, log: /connection/i },
  ),
  leftOut(
    "the service's own cookie is left out",
    ["C11 cookie"],
    { "Set-Cookie": "service-token=stolen; Path=/" },
    ["set-cookie"],
  ),
  leftOut(
    "the service's own cookie in another case of the header",
    ["C11 cookie"],
    { "SET-COOKIE": "service-token =x" },
    ["set-cookie"],
  ),
  ...[
    "mine=1; Path=/",
    "mine=1; Path=/ui",
    "mine=1; Domain=service.test",
    `mine=${"x".repeat(4096)}`,
    "; service-token=stolen",
  ].map((cookie) =>
    leftOut(
      `H1: the cookie "${cookie.slice(0, 40)}" is left out`,
      ["C11 origin", "C11 cookie"],
      { "Set-Cookie": cookie },
      ["set-cookie"],
    ),
  ),
  ...["Clear-Site-Data", "Strict-Transport-Security", "Alt-Svc", "Service-Worker-Allowed"].map(
    (header) =>
      leftOut(`${header} is left out`, ["C11 origin"], { [header]: "x" }, [header.toLowerCase()]),
  ),
];

/** Strange values returned and thrown: the status, and what the message says. */
export const ODD_ROWS: CallRow[] = (
  [
    ["undefined", 200, /^null$/],
    ["bigint", 500, /BigInt/i],
    ["cycle", 500, /circular|cycl/i],
    ["throwing_json", 500, /no JSON of me/],
    ["throw_null", 500, /null/],
    ["throw_undefined", 500, /undefined/],
    ["throw_string", 500, /just a text/],
    ["throw_object", 500, /./],
    ["throw_hostile", 500, /./],
    ["status_nan", 500, /status/i],
    ["status_infinite", 500, /status/i],
    ["status_undefined", 500, /status/i],
    ["status_bigint", 500, /./],
    ["response_undefined", 500, /./],
    ["response_cycle", 500, /./],
    ["response_bigint", 500, /BigInt/i],
    ["exit", 500, /./],
  ] as const
).map(([what, status, says]) => ({
  name: `a flow with ${what}`,
  covers: ["C11 survives", "4.4 rule 3"],
  webhook: "odd",
  path: `?case=${what}`,
  expect: {
    status,
    body: { matches: status === 200 ? says : /^ENDED_ERROR: / },
    execution:
      status === 200
        ? { status: "ENDED_SUCCESS" }
        : { status: "ENDED_ERROR", status_message: says },
  },
}));

export const MORE_ODD_ROWS: CallRow[] = [
  ...(
    [
      ["long", /^ENDED_ERROR: m{4086} … \(cut\)$/],
      ["wide", /^ENDED_ERROR: €{1362} … \(cut\)$/],
      ["pairs", /^ENDED_ERROR: x(?:😀){1021} … \(cut\)$/u],
      ["halves", /^ENDED_ERROR: xx(?:😀){10}\uFFFD{1347} … \(cut\)$/u],
      ["fitting", /^ENDED_ERROR: €{1365}x$/],
    ] as const
  ).map(([what, matches]) => ({
    name: `a message of a failure is cut at 4 KB: ${what}`,
    covers: ["7 execution 500"] as const,
    webhook: "odd",
    path: `?case=throw_${what}`,
    expect: { status: 500, body: { matches } },
  })),
  {
    name: "a function as output cannot be written as JSON",
    covers: ["C11 survives"],
    webhook: "odd",
    path: "?case=function",
    expect: { status: 500, body: { matches: /JSON/ }, execution: { status: "ENDED_ERROR" } },
  },
  {
    name: "an output with a member __proto__",
    covers: ["C6 plain data"],
    webhook: "odd",
    path: "?case=proto",
    expect: { status: 200, body: { text: '{"__proto__":{"polluted":true},"a":1}' } },
  },
  {
    name: "a rejection left behind harms nobody",
    covers: ["C11 survives"],
    webhook: "odd",
    path: "?case=reject_later",
    expect: { status: [200, 500], execution: {} },
  },
  {
    name: "the next call of the same flow is unharmed",
    covers: ["C11 survives"],
    webhook: "odd",
    path: "?case=undefined",
    expect: { status: 200, body: { text: "null" } },
  },
];

export const OUTPUT_LIMIT = 65_536;

export const BIG_ROWS: CallRow[] = [
  {
    name: "an output of exactly the limit",
    covers: ["C11 survives"],
    webhook: "big",
    path: `?bytes=${OUTPUT_LIMIT - 2}`,
    expect: { status: 200, body: { text: `"${"x".repeat(OUTPUT_LIMIT - 2)}"` } },
  },
  {
    name: "an output over the limit",
    covers: ["C11 survives", "4.4 rule 3"],
    webhook: "big",
    path: `?bytes=${OUTPUT_LIMIT}`,
    expect: {
      status: 500,
      execution: { status: "ENDED_ERROR", status_message: /65536|MAX_OUTPUT_BYTES/ },
    },
  },
  {
    name: "a custom response of exactly the limit",
    covers: ["C11 survives"],
    webhook: "big",
    path: `?as=response&bytes=${OUTPUT_LIMIT}`,
    expect: { status: 200, body: { text: "x".repeat(OUTPUT_LIMIT) } },
  },
  {
    name: "a custom response over the limit",
    covers: ["C11 survives"],
    webhook: "big",
    path: `?as=response&bytes=${OUTPUT_LIMIT + 1}`,
    expect: {
      status: 500,
      execution: { status: "ENDED_ERROR", status_message: /65536|MAX_OUTPUT_BYTES/ },
    },
  },
];
