import type { CallRow } from "../scenario.ts";

export const KEY = "blackbox-canary-key-0123456789";

/** Admitted; the input must be so and the key nowhere in any answer. */
function admitted(
  name: string,
  covers: CallRow["covers"],
  request: Pick<CallRow, "path" | "headers" | "body" | "method" | "webhook"> | Partial<CallRow>,
  input: NonNullable<CallRow["expect"]["input"]>,
): CallRow {
  return {
    name,
    covers,
    webhook: "keyed",
    path: "?async",
    ...request,
    expect: { status: 201, input },
    forbid: [KEY],
  };
}

const JSON_TYPE = "application/json";
const YAML = "application/yaml";
const FORM = "application/x-www-form-urlencoded";
const LONG = "x".repeat(70_000);

/** Bodies that hold the key where the header admits: what is left of them. */
const KEPT: readonly (readonly [name: string, type: string, body: string, json: unknown])[] = [
  ["the key and another one in JSON", JSON_TYPE, `{"key":"${KEY}","key":"x"}`, { key: "x" }],
  [
    "another one and the key in JSON",
    JSON_TYPE,
    `{"key":"x","a":1,"key":"${KEY}"}`,
    { key: "x", a: 1 },
  ],
  ["the key three times in JSON", JSON_TYPE, `{"key":"${KEY}","key":"${KEY}","key":"${KEY}"}`, {}],
  ["the key under an escaped name", JSON_TYPE, `{"\\u006bey":"${KEY}","n":1}`, { n: 1 }],
  ["the key with an escape in it", JSON_TYPE, `{"key":"\\u0062${KEY.slice(1)}","n":1}`, { n: 1 }],
  ["the key behind a byte order mark", JSON_TYPE, `\uFEFF{"key":"${KEY}","n":1}`, { n: 1 }],
  ["the key in JSON of another type", "application/vnd.x+json", `{"key":"${KEY}","n":1}`, { n: 1 }],
  [
    "the key in large JSON",
    JSON_TYPE,
    `{"key":"${KEY}","n":"${LONG}","key":1}`,
    { n: LONG, key: 1 },
  ],
  ["the key in YAML", YAML, `key: ${KEY}\nn: 1\n`, { n: 1 }],
  ["the key in quoted YAML", YAML, `{ "key": "${KEY}", n: 1 }`, { n: 1 }],
  ["the key in large YAML", YAML, `key: ${KEY}\nn: ${LONG}\n`, { n: LONG }],
  ["the key in a form", FORM, `key=${KEY}&n=1`, { n: "1" }],
  ["the key with an escape in a form", FORM, `n=1&k%65y=%62${KEY.slice(1)}`, { n: "1" }],
  ["another one and the key in a form", FORM, `key=x&key=${KEY}`, { key: "x" }],
  ["the key in a large form", FORM, `n=${LONG}&key=${KEY}`, { n: LONG }],
];

const BEARER = { authorization: `Bearer ${KEY}` };
const ENCODED = KEY.replaceAll("-", "%2D").replace("b", "%62");

/** The key where it is not looked for, beside a place where it admits. */
const REPEATED_ROWS: CallRow[] = [
  admitted(
    "L6: the key in other headers",
    ["C5 not kept"],
    {
      headers: {
        ...BEARER,
        referer: `https://example.test/?key=${KEY}&a=1`,
        origin: `https://example.test/?key=${ENCODED}&next=${ENCODED.replaceAll("%", "%25")}`,
        cookie: `a=1; b=${KEY}`,
        [`x-${KEY}`]: "kept",
      },
    },
    {
      headers: {
        authorization: null,
        referer: "https://example.test/?key=***&a=1",
        origin: "https://example.test/?key=***&next=***",
        cookie: "a=1; b=***",
        "x-***": "kept",
      },
    },
  ),
  ...[
    [`Basic x, Bearer ${KEY}`, "Basic x, Bearer ***"],
    [`Bearer\t${KEY}`, "Bearer\t***"],
    [KEY, "***"],
  ].map(([authorization = "", kept = ""]) =>
    admitted(
      `L6: the key in the query and in "${kept}"`,
      ["C5 not kept"],
      { path: `?key=${KEY}&async`, headers: { authorization } },
      { headers: { authorization: kept }, query: { async: "" } },
    ),
  ),
  admitted(
    "L6: the key in the path and in other parameters",
    ["C5 not kept"],
    {
      path: `/a/${KEY}/${ENCODED}/b?+key=${KEY}&Key=${ENCODED}&${KEY}=1&key%5B%5D=${KEY}&async`,
      headers: BEARER,
    },
    {
      path: "a/***/***/b",
      query: { " key": "***", Key: "***", "***": "1", "key[]": "***", async: "" },
    },
  ),
  admitted(
    "L6: the key of the body in a header",
    ["C5 not kept"],
    { body: { key: KEY, n: 1 }, headers: { referer: `/?key=${KEY}` } },
    { json: { n: 1 }, headers: { referer: "/?key=***" } },
  ),
  admitted(
    "L6: the key of a large body in a header",
    ["C5 not kept"],
    { body: { n: LONG, key: KEY }, headers: { referer: `/?key=${KEY}` } },
    { json: { n: LONG }, headers: { referer: "/?key=***" } },
  ),
];

/** The body that might carry the key is read before it is known that there is none. */
const EMPTY_ROWS: CallRow[] = [
  ["the header", { headers: { ...BEARER, "content-type": JSON_TYPE } }] as const,
  ["the query", { path: `?key=${KEY}&async`, headers: { "content-type": JSON_TYPE } }] as const,
].map(([where, request]) =>
  admitted(
    `the key in ${where} beside an empty chunked body`,
    ["5.2 rule 3", "4.1 no body"],
    { ...request, method: "POST", body: "", chunked: true },
    { query: { async: "" } },
  ),
);

export const ADMITTED_ROWS: CallRow[] = [
  ...REPEATED_ROWS,
  ...EMPTY_ROWS,
  admitted(
    "the key as a Bearer header",
    ["5.2 header", "5.2 rule 3", "4.3 key"],
    { headers: { authorization: `Bearer ${KEY}` } },
    { headers: { authorization: null }, query: { async: "" } },
  ),
  ...["bearer", "BEARER", "bEaReR"].map((scheme) =>
    admitted(
      `the scheme in another case: ${scheme}`,
      ["5.2 header", "C5 taken out"],
      { headers: { authorization: `${scheme} ${KEY}` } },
      { headers: { authorization: null } },
    ),
  ),
  admitted(
    "the key as a query parameter",
    ["5.2 query", "5.2 rule 3", "4.3 key"],
    { path: `?a=1&key=${KEY}&async` },
    { query: { a: "1", async: "" } },
  ),
  admitted(
    "the key as a percent-encoded query parameter",
    ["5.2 query", "C5 taken out"],
    { path: `?%6bey=${KEY.replace("b", "%62")}&async` },
    { query: { async: "" } },
  ),
  admitted(
    "the key in the body",
    ["5.2 body", "5.2 rule 3", "4.3 key"],
    { body: { key: KEY, order: 7 } },
    { json: { order: 7 } },
  ),
  ...["PUT", "PATCH", "DELETE"].map((method) =>
    admitted(
      `the key in the body of ${method}`,
      ["5.2 body", "C2 methods with body"],
      { method, body: { order: 7, key: KEY } },
      { method, json: { order: 7 } },
    ),
  ),
  admitted(
    "the key in a body of application/json with a parameter",
    ["5.2 body"],
    { body: { key: KEY }, headers: { "content-type": "application/json; charset=utf-8" } },
    { json: {} },
  ),
  admitted(
    "a body with a key of its own and the right header",
    ["C5 first that fits", "C5 stays", "5.2 rule 2"],
    { body: { key: "of the payload", n: 1 }, headers: { authorization: `Bearer ${KEY}` } },
    { json: { key: "of the payload", n: 1 }, headers: { authorization: null } },
  ),
  admitted(
    "a wrong query parameter and the right header",
    ["C5 first that fits", "C5 taken out", "5.2 rule 2"],
    { path: "?key=wrong&async", headers: { authorization: `Bearer ${KEY}` } },
    { query: { async: "" }, headers: { authorization: null } },
  ),
  admitted(
    "the right body and a wrong query parameter and header",
    ["C5 first that fits", "C5 taken out", "5.2 rule 2"],
    { path: "?key=wrong&async", body: { key: KEY, a: 1 }, headers: { authorization: "Bearer no" } },
    { query: { async: "" }, json: { a: 1 }, headers: { authorization: null } },
  ),
  admitted(
    "the key in all three places",
    ["C5 taken out", "5.2 rule 2", "5.2 rule 3"],
    {
      path: `?key=${KEY}&async`,
      body: { key: KEY, a: { key: "inner" } },
      headers: { authorization: `Bearer ${KEY}` },
    },
    { query: { async: "" }, json: { a: { key: "inner" } }, headers: { authorization: null } },
  ),
  admitted(
    "an Authorization header of another scheme stays",
    ["C5 stays"],
    { path: `?key=${KEY}&async`, headers: { authorization: "Basic dTpw" } },
    { headers: { authorization: "Basic dTpw" } },
  ),
  admitted(
    "a number as key of the payload stays",
    ["C5 stays"],
    { body: { key: 17 }, headers: { authorization: `Bearer ${KEY}` } },
    { json: { key: 17 } },
  ),
  admitted(
    "YAML with a header",
    ["4.1 body types"],
    {
      body: "key: own\n",
      headers: { "content-type": "application/yaml", authorization: `Bearer ${KEY}` },
    },
    { json: { key: "own" } },
  ),
  ...KEPT.map(([name, type, body, json]) =>
    admitted(
      `L6: ${name}`,
      ["C5 taken out", "C5 not kept"],
      { body, headers: { "content-type": type, authorization: `Bearer ${KEY}` } },
      { json },
    ),
  ),
  ...KEPT.map(([name, type, body]): CallRow => ({
    name: `L6: ${name}: nor as it was sent`,
    covers: ["C5 taken out"],
    webhook: "raw",
    body,
    headers: { "content-type": type, authorization: `Bearer ${KEY}` },
    expect: { status: 200, body: { json: { raw_body: null } } },
    forbid: [KEY],
  })),
];
