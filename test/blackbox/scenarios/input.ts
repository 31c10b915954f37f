import { ABSENT, type CallRow, type Group } from "../scenario.ts";

const METHODS = ["GET", "DELETE", "HEAD", "POST", "PUT", "PATCH"];

/** Each method in asynchronous mode, so that no redirect changes it; with and without a body. */
function methodRows(): CallRow[] {
  return METHODS.flatMap((method): CallRow[] => {
    const hasBody = method !== "GET" && method !== "HEAD";
    return [
      {
        name: `${method} starts an execution`,
        covers: ["4.1 methods", "4.3 method", "C2 absent"],
        webhook: "echo",
        method,
        path: "?async",
        expect: { status: 201, input: { method, json: ABSENT }, execution: { is_async: true } },
      },
      {
        name: `${method} ${hasBody ? "passes" : "ignores"} a body`,
        covers: hasBody
          ? ["4.1 body by method", "C2 methods with body", "4.3 json"]
          : ["4.1 body by method", "C2 ignored"],
        webhook: "echo",
        method,
        path: "?async",
        body: { n: 1 },
        expect: { status: 201, input: { method, json: hasBody ? { n: 1 } : ABSENT } },
      },
    ];
  });
}

const RESULT: Pick<CallRow["expect"], "status" | "headers"> = {
  status: 200,
  headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
};

export const INPUT: Group = {
  name: "input",
  flows: ["echo", "identity", "strict"],
  webhooks: {
    echo: { flow: "echo" },
    identity: { flow: "identity" },
    strict: { flow: "strict" },
    "two words": { flow: "echo" },
    größe: { flow: "echo" },
    disabled: { flow: "echo", is_enabled: false },
  },
  rows: [
    ...methodRows(),
    {
      name: "a call without anything after /call",
      covers: [
        "4.1 path",
        "4.2 synchronous",
        "4.3 path null",
        "4.3 query",
        "4.4 rule 1",
        "4.4 rule 2",
        "5.3 public",
      ],
      webhook: "echo",
      expect: {
        ...RESULT,
        chain: [303, 200],
        body: { matches: /"path":null/ },
        input: { method: "GET", path: null, query: {}, json: ABSENT, auth: "absent" },
        execution: { status: "ENDED_SUCCESS", webhook: "echo", flow: "echo", is_async: false },
      },
    },
    {
      name: "a URL that ends with /call/",
      covers: ["4.3 path empty"],
      webhook: "echo",
      path: "/",
      expect: { ...RESULT, input: { path: "" } },
    },
    {
      name: "a sub-path with a query",
      covers: ["4.1 sub-paths", "4.3 path text", "4.1 query"],
      webhook: "echo",
      path: "/orders/7?a=1&b=two+words&c=%C3%A4",
      expect: { ...RESULT, input: { path: "orders/7", query: { a: "1", b: "two words", c: "ä" } } },
    },
    {
      name: "a path that ends with a slash, and has two in a row",
      covers: ["4.3 path text", "C6 as sent"],
      webhook: "echo",
      path: "/a//b/?async=1",
      expect: { status: 201, input: { path: "a//b/", query: { async: "1" } } },
    },
    {
      name: "a path is not decoded",
      covers: ["C6 as sent"],
      webhook: "echo",
      path: "/a%2Fb%20c%00%ff;x=1,~!$&'()*+:@?async",
      expect: { status: 201, input: { path: "a%2Fb%20c%00%ff;x=1,~!$&'()*+:@" } },
    },
    {
      name: "a query is decoded, of a repeated name the first value counts",
      covers: ["C6 query"],
      webhook: "echo",
      path: "?a=1&a=2&empty=&none&%61b=%26%3D&bad=%zz&async=1",
      expect: {
        status: 201,
        input: { query: { a: "1", empty: "", none: "", ab: "&=", bad: "%zz", async: "1" } },
      },
    },
    {
      name: "reserved names: async is passed, __wait_execution_id is not",
      covers: ["4.1 reserved", "C6 reserved"],
      webhook: "echo",
      path: "?async&x=1",
      expect: {
        status: 201,
        input: { query: { async: "", x: "1" } },
      },
    },
    {
      name: "key is an ordinary parameter on a webhook without a key",
      covers: ["C5 stays", "5.3 public"],
      webhook: "echo",
      path: "?key=not-a-secret&async",
      headers: { authorization: "Bearer of-somebody-else" },
      body: { key: "in the payload" },
      expect: {
        status: 201,
        input: {
          query: { key: "not-a-secret", async: "" },
          json: { key: "in the payload" },
          headers: { authorization: "Bearer of-somebody-else" },
        },
      },
    },
    {
      name: "all headers of the client are passed, names in lower case",
      covers: ["4.1 headers", "4.3 headers", "C6 headers"],
      webhook: "echo",
      path: "?async",
      headers: { "X-Custom": "One", "User-Agent": "blackbox/1", ACCEPT: "text/plain" },
      expect: {
        status: 201,
        input: { headers: { "x-custom": "One", "user-agent": "blackbox/1", accept: "text/plain" } },
      },
    },
    {
      name: "login tokens are passed on no webhook",
      covers: ["C5 tokens", "4.3 auth"],
      webhook: "echo",
      path: "?async",
      headers: { "x-service-token": "<token>", cookie: "a=1; service-token=<token>; b=2" },
      expect: {
        status: 201,
        input: { auth: "absent", headers: { "x-service-token": null, cookie: "a=1; b=2" } },
      },
    },
    {
      name: "a cookie header of nothing but the token is not passed",
      covers: ["C5 tokens"],
      webhook: "echo",
      path: "?async",
      headers: { cookie: "service-token=<token>" },
      expect: { status: 201, input: { headers: { cookie: null } } },
    },
    {
      name: "L6: the token's cookie under another spelling of its name is passed on no webhook",
      covers: ["C5 tokens"],
      webhook: "echo",
      path: "?async",
      headers: { cookie: 'Service-Token=<token>; a=1; "service-token"="<token>"; b=<token>' },
      expect: { status: 201, input: { headers: { cookie: "a=1; b=***" } } },
    },
    {
      name: "names like __proto__ are names",
      covers: ["C6 plain data"],
      webhook: "echo",
      path: "?__proto__=q&constructor=c&toString=t",
      headers: { __proto__x: "x", constructor: "h" },
      expect: {
        ...RESULT,
        body: {
          contains: ['"__proto__":"q"', '"constructor":"c"', '"toString":"t"', '"constructor":"h"'],
        },
      },
    },
    {
      name: "__proto__ in a payload is a name",
      covers: ["C6 plain data"],
      webhook: "echo",
      path: "?async=0",
      method: "PUT",
      body: '{"__proto__":{"admin":true},"constructor":{"prototype":1}}',
      headers: { "content-type": "application/json" },
      expect: {
        status: 200,
        chain: [303, 200],
        body: { contains: ['"__proto__":{"admin":true}', '"constructor":{"prototype":1}'] },
      },
    },
    {
      name: "a flow is told about its execution",
      covers: ["4.1 path"],
      webhook: "identity",
      expect: {
        ...RESULT,
        body: { matches: /"webhook":"identity","flow":"identity","is_productive":true/ },
      },
    },
    {
      name: "an input schema that refuses ends the execution",
      covers: ["4.4 rule 3", "7 execution 500"],
      webhook: "strict",
      body: { name: 5 },
      expect: {
        status: 500,
        headers: { "content-type": "text/plain; charset=utf-8" },
        body: { matches: /^ENDED_ERROR: .*name/s },
        execution: { status: "ENDED_ERROR" },
      },
    },
    {
      name: "a name with a blank is called by its encoded form",
      covers: ["4.1 path"],
      webhook: "two%20words",
      path: "?async",
      expect: { status: 201, execution: { webhook: "two words" } },
    },
    {
      name: "a name beyond ASCII is called by its encoded form",
      covers: ["4.1 path"],
      webhook: "gr%C3%B6%C3%9Fe",
      expect: { ...RESULT, execution: { webhook: "größe" } },
    },
    {
      name: "a disabled webhook is not found",
      covers: ["7 disabled", "C1 unknown"],
      webhook: "disabled",
      expect: {
        status: 404,
        body: { problem: { title: "Not found" } },
        execution: "none",
      },
    },
    {
      name: "an unknown webhook is not found in the same way",
      covers: ["C1 unknown", "C12 no-store"],
      webhook: "nothing-of-this-name",
      expect: { status: 404, body: { problem: { title: "Not found" } }, execution: "none" },
    },
    {
      name: "a name is case-sensitive",
      covers: ["C1 unknown"],
      webhook: "Echo",
      expect: { status: 404, execution: "none" },
    },
    {
      name: "a name that cannot be decoded is refused",
      covers: ["C1 unknown"],
      webhook: "%E0%A4%A",
      expect: { status: [400, 404], execution: "none" },
    },
    {
      name: "async=1",
      covers: ["4.2 asynchronous", "4.5 status", "4.5 body", "C7 async", "C12 id"],
      webhook: "echo",
      path: "?async=1",
      expect: {
        status: 201,
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "flowhook-execution-id": /^[0-9a-f-]{36}$/,
          "cache-control": "no-store",
        },
        body: { matches: /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/ },
        execution: { is_async: true, status: "ENDED_SUCCESS" },
      },
    },
    ...[
      "?async",
      "?async=",
      "?async=true",
      "?async=00",
      "?x=1&async=false",
      "?async=1&async=0",
    ].map((path): CallRow => ({
      name: `${path} is asynchronous`,
      covers: ["4.2 asynchronous", "C7 async"],
      webhook: "echo",
      path,
      expect: { status: 201, execution: { is_async: true } },
    })),
    ...["", "?async=0", "?ASYNC=1", "?async=0&async=1"].map((path): CallRow => ({
      name: `"${path}" is synchronous`,
      covers: ["4.2 synchronous", "C7 async"],
      webhook: "echo",
      path,
      follow: false,
      expect: { status: 303, execution: { is_async: false } },
    })),
  ],
};
