import type { CallRow, Expectation } from "../scenario.ts";

export const KEY = "blackbox-canary-key-with-login";

export const REFUSED: Expectation = {
  status: 401,
  headers: { "content-type": "application/json; charset=utf-8", location: null },
  body: { text: '"401 Unauthorized"' },
  execution: "none",
};

const LOGIN_SCREEN: Expectation = {
  status: 302,
  headers: { location: /^(?!https?:|\/\/).*ui\/login\?next=/, "cache-control": "no-store" },
  execution: "none",
};

/** Who the administrator is for a flow. */
const ADMIN = { user_name: "admin", roles: ["admin"] };

const CROSS = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors" };

export const ADMITTED_ROWS: CallRow[] = [
  {
    name: "the login token in its header",
    covers: ["5.1 header", "5.1 auth", "4.3 auth", "C18 auth"],
    webhook: "private",
    headers: { "x-service-token": "<token>" },
    expect: {
      status: 200,
      chain: [303, 200],
      input: { auth: ADMIN, headers: { "x-service-token": null } },
    },
  },
  {
    name: "the login token as a cookie",
    covers: ["5.1 cookie", "5.1 auth", "C5 tokens"],
    webhook: "private",
    headers: { cookie: "theme=dark; service-token=<token>" },
    expect: { status: 200, input: { auth: ADMIN, headers: { cookie: "theme=dark" } } },
  },
  {
    name: "L6: the login token is found wherever it is repeated",
    covers: ["5.1 header", "C5 tokens"],
    webhook: "private",
    path: "/<token>?async&token=<token>",
    headers: {
      "x-service-token": "<token>",
      cookie: 'a=1; Service-Token=<token>; "service-token"=<token>; b=<token>',
      authorization: "Bearer <token>",
    },
    expect: {
      status: 201,
      input: {
        auth: ADMIN,
        path: "***",
        query: { async: "", token: "***" },
        headers: { cookie: "a=1; b=***", authorization: "Bearer ***" },
      },
    },
  },
  {
    name: "a browser with a session is let in",
    covers: ["5.1 cookie"],
    webhook: "private",
    headers: { cookie: "service-token=<token>", accept: "text/html,*/*;q=0.8" },
    expect: { status: 200 },
  },
  {
    name: "both checks, both given",
    covers: ["5 both"],
    webhook: "both",
    headers: { "x-service-token": "<token>", authorization: `Bearer ${KEY}` },
    expect: { status: 200, input: { auth: ADMIN, headers: { authorization: null } } },
    forbid: [KEY],
  },
  {
    name: "a navigation from another site is let in",
    covers: ["C14 navigation"],
    webhook: "private",
    headers: {
      cookie: "service-token=<token>",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
      accept: "text/html",
    },
    expect: { status: 200 },
  },
  {
    name: "a script of the same origin is let in",
    covers: ["C14 navigation"],
    webhook: "private",
    path: "?async",
    headers: {
      cookie: "service-token=<token>",
      "sec-fetch-site": "same-origin",
      "sec-fetch-mode": "cors",
    },
    body: { a: 1 },
    expect: { status: 201 },
  },
  {
    name: "another site with the token in its header is let in",
    covers: ["C14 navigation"],
    webhook: "private",
    path: "?async",
    headers: { "x-service-token": "<token>", origin: "https://other.example", ...CROSS },
    body: { a: 1 },
    expect: { status: 201 },
  },
  {
    name: "another site may call a public webhook",
    covers: ["C14 navigation", "5.3 public"],
    webhook: "public",
    path: "?async",
    headers: { origin: "https://other.example", ...CROSS },
    body: { a: 1 },
    expect: { status: 201, input: { auth: "absent" } },
  },
];

function refused(name: string, headers: CallRow["headers"] = {}): CallRow {
  return {
    name,
    covers: ["5.1 refusal", "7 login 401"],
    webhook: "private",
    headers,
    expect: REFUSED,
  };
}

export const REFUSED_ROWS: CallRow[] = [
  refused("no token"),
  refused("an invalid token", { "x-service-token": "invalid" }),
  refused("an invalid cookie", { cookie: "service-token=invalid" }),
  refused("an empty token", { "x-service-token": "" }),
  refused("a token as a Bearer header", { authorization: "Bearer <token>" }),
  refused("a cookie of another name", { cookie: "token=<token>; xservice-token=<token>" }),
  refused("a client that takes anything is not sent to the login screen", { accept: "*/*" }),
  refused("a client that wants JSON", { accept: "application/json" }),
  ...["*/*, text/html;q=0", "text/html; q=0.0", "text/html5", "x/y;a=text/html"].map((accept) =>
    refused(`a client that takes no HTML: ${accept}`, { accept }),
  ),
  {
    name: "both checks, only the key given",
    covers: ["5 both", "C1 login before key"],
    webhook: "both",
    headers: { authorization: `Bearer ${KEY}` },
    expect: REFUSED,
    forbid: [KEY],
  },
  {
    name: "both checks, only the token given",
    covers: ["5 both"],
    webhook: "both",
    headers: { "x-service-token": "<token>" },
    expect: REFUSED,
  },
  {
    name: "a login is missed before the body is looked at",
    covers: ["C1 login before key"],
    webhook: "both",
    headers: { "content-type": "application/json" },
    body: "{".repeat(5000),
    expect: REFUSED,
  },
  {
    name: "a cookie sent by a script of another site",
    covers: ["C14 cross-site"],
    webhook: "private",
    headers: { cookie: "service-token=<token>", ...CROSS },
    body: { a: 1 },
    expect: { status: 403, execution: "none" },
  },
  {
    name: "a cookie sent by an image of another site",
    covers: ["C14 cross-site"],
    webhook: "private",
    headers: {
      cookie: "service-token=<token>",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "no-cors",
      "sec-fetch-dest": "image",
    },
    expect: { status: 403, execution: "none" },
  },
  {
    name: "a cookie sent with another origin by a client without Sec-Fetch headers",
    covers: ["C14 cross-site"],
    webhook: "private",
    headers: { cookie: "service-token=<token>", origin: "https://other.example" },
    body: { a: 1 },
    expect: { status: 403, execution: "none" },
  },
];

export const SCREEN_ROWS: CallRow[] = [
  ...["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD"].map((method) => ({
    ...toScreen(method, "text/html,application/xhtml+xml,*/*;q=0.8"),
    name: `${method} of a browser without a session goes to the login screen`,
    ...(method === "GET" || method === "HEAD" ? {} : { body: { lost: true } }),
  })),
  ...["TEXT/HTML", "application/json, Text/Html ; Q=0.1"].map((accept) => ({
    ...toScreen("GET", accept),
    name: `a client that takes HTML goes to the login screen: ${accept}`,
  })),
];

function toScreen(method: string, accept: string): Omit<CallRow, "name"> {
  return {
    covers: ["5.1 login screen", "5.1 payload lost", "C12 no-store"],
    webhook: "private",
    method,
    follow: false,
    headers: { accept },
    expect: LOGIN_SCREEN,
  };
}
