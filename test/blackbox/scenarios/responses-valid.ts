import type { CallRow } from "../scenario.ts";
import { answering, PLAIN, response } from "./answering.ts";

const SANDBOX_POLICY =
  "sandbox allow-downloads allow-forms allow-modals allow-popups " +
  "allow-popups-to-escape-sandbox allow-scripts";

export const GOOD_ROWS: CallRow[] = [
  answering(
    "webhook_response gives exactly its status, headers and body",
    ["4.7 webhook_response", "7 custom", "C12 id", "C11 unaltered"],
    [response(418, { "X-Custom": "One", "content-type": "text/x-tea; v=1", etag: '"a"' }, "tea ü")],
    {
      status: 418,
      headers: {
        "x-custom": "One",
        "content-type": "text/x-tea; v=1",
        etag: '"a"',
        "cache-control": null,
        "flowhook-execution-id": /./,
      },
      body: { text: "tea ü" },
      execution: { status: "ENDED_SUCCESS" },
    },
  ),
  ...[200, 201, 202, 299, 301, 400, 401, 402, 404, 429, 500, 503, 599].map((status) =>
    answering(
      `webhook_response with status ${status}`,
      ["7 custom", "C11 status"],
      [response(status)],
      { status, body: { text: "custom body" }, execution: { status: "ENDED_SUCCESS" } },
    ),
  ),
  ...[204, 205, 304].map((status) =>
    answering(
      `a custom ${status} has no body`,
      ["C10 bodiless"],
      [response(status, { "x-a": "1" })],
      {
        status,
        headers: { "x-a": "1" },
        body: { text: "" },
        execution: { status: "ENDED_SUCCESS" },
      },
    ),
  ),
  answering(
    "a custom Location is the flow's own",
    ["C11 unaltered"],
    [response(307, { location: "https://example.test/a?b=c" })],
    { status: 307, chain: [307], headers: { location: "https://example.test/a?b=c" } },
  ),
  answering(
    "valid headers are never altered",
    ["C11 unaltered"],
    [
      response(200, {
        "Cache-Control": "public, max-age=60",
        "Set-Cookie": "mine=1; Path=/api/latest/webhook/answer/call",
        Link: "</default-styling.css>; rel=preload",
        "X-Tab": "a\tb",
        "X-Empty": "",
        "WWW-Authenticate": "Basic realm=x",
        Server: "mine",
        Vary: "*",
      }),
    ],
    {
      status: 200,
      headers: {
        "cache-control": "public, max-age=60",
        "set-cookie": "mine=1; Path=/api/latest/webhook/answer/call",
        link: "</default-styling.css>; rel=preload",
        "x-tab": "a\tb",
        "x-empty": "",
        "www-authenticate": "Basic realm=x",
        server: "mine",
        vary: "*",
      },
    },
  ),
  answering(
    "a cookie arrives as the flow said it, without a path or with one of no use",
    ["C11 unaltered"],
    [response(200, { "Set-Cookie": ["a=1", "b=2; path=beside; HttpOnly"] })],
    { status: 200, headers: { "set-cookie": "a=1, b=2; path=beside; HttpOnly" } },
  ),
  answering(
    "webhook_html_response",
    ["4.7 webhook_html_response", "C13 sandbox"],
    [{ webhook_html_response: "<h1>Größe</h1>" }],
    {
      status: 200,
      headers: {
        "content-type": /^text\/html/,
        "content-security-policy": SANDBOX_POLICY,
        "x-content-type-options": "nosniff",
      },
      body: { text: "<h1>Größe</h1>" },
    },
  ),
  answering(
    "webhook_json_response",
    ["4.7 webhook_json_response"],
    [{ webhook_json_response: { a: [1, null, "ü"] } }],
    {
      status: 200,
      headers: {
        "content-type": /^application\/json/,
        "content-security-policy": SANDBOX_POLICY,
        "x-content-type-options": "nosniff",
      },
      body: { json: { a: [1, null, "ü"] } },
    },
  ),
  answering(
    "webhook_response without headers and body",
    ["4.7 webhook_response"],
    [{ webhook_response: { status: 202 } }],
    { status: 202, body: { text: "" } },
  ),
  answering(
    "of several calls the last counts",
    ["C11 last counts"],
    [response(500), { webhook_html_response: "<p>" }, { webhook_json_response: 1 }, response(202)],
    { status: 202, headers: { "content-type": "text/plain" }, body: { text: "custom body" } },
  ),
  answering(
    "the response of a flow that then fails is kept and not sent",
    ["C11 failed"],
    [response(202, PLAIN, "kept back"), { fail: "afterwards" }],
    {
      status: 500,
      body: { text: "ENDED_ERROR: afterwards" },
      execution: { status: "ENDED_ERROR", response: /object/ },
    },
    ["kept back"],
  ),
];

export const DEFAULT_ROWS: CallRow[] = [
  {
    name: "an output of null",
    covers: ["4.4 rule 2"],
    webhook: "answer",
    expect: {
      status: 200,
      headers: {
        "content-type": "application/json; charset=utf-8",
        "content-security-policy": null,
        "cache-control": "no-store",
      },
      body: { text: "null" },
    },
  },
  {
    name: "H1: nothing is guessed behind a result",
    covers: ["4.4 rule 2", "C13 sandbox"],
    webhook: "answer",
    body: { output: "<html><script>" },
    expect: {
      status: 200,
      headers: {
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
      },
      body: { text: '"<html><script>"' },
    },
  },
  {
    name: "an output of any JSON",
    covers: ["4.4 rule 2"],
    webhook: "answer",
    body: { output: { a: [1, "ü", { b: null }] } },
    expect: { status: 200, body: { json: { a: [1, "ü", { b: null }] } } },
  },
  {
    name: "a status message of a success is kept in the record",
    covers: ["4.4 rule 2"],
    webhook: "answer",
    body: { steps: [{ status_message: "done twice" }], output: 1 },
    expect: { status: 200, body: { text: "1" }, execution: { status_message: "done twice" } },
  },
  {
    name: "a custom response under async is stored, not sent",
    covers: ["C16 async response"],
    webhook: "answer",
    path: "?async",
    body: { steps: [response(418, PLAIN, "stored")] },
    expect: {
      status: 201,
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: { matches: /^[0-9a-f-]{36}$/ },
      execution: { response: { status: 418, headers: PLAIN, body: "stored" } },
    },
    forbid: ["stored"],
  },
];

export const PAGE_ROWS: CallRow[] = [
  ...[
    "text/html",
    "TEXT/HTML; charset=utf-8",
    "application/xhtml+xml",
    "image/svg+xml",
    "text/xml",
    "application/xml",
    "application/atom+xml",
    "",
    "*/*",
    "unknown/unknown",
    "application/unknown",
    "foo",
    "text",
    ";charset=x",
    "text/xsl",
    "text/plain",
    "multipart/x-mixed-replace; boundary=x",
    "application/json",
    "application/octet-stream",
  ].map((type) =>
    answering(
      `H1: an answer of type "${type}" is sandboxed`,
      ["C13 sandbox"],
      [response(200, { "content-type": type }, "<p/>")],
      {
        status: 200,
        headers: {
          "content-type": type,
          "content-security-policy": SANDBOX_POLICY,
          "x-content-type-options": "nosniff",
        },
      },
    ),
  ),
  answering(
    "a page's own policy is kept beside the sandbox",
    ["C13 sandbox", "C11 unaltered"],
    [
      response(
        200,
        { "content-type": "text/html", "Content-Security-Policy": "default-src 'none'" },
        "<p>",
      ),
    ],
    {
      status: 200,
      headers: {
        "content-security-policy": new RegExp(
          `default-src 'none'.*${SANDBOX_POLICY}|${SANDBOX_POLICY}.*default-src 'none'`,
        ),
      },
    },
  ),
  answering(
    "an error page is sandboxed too",
    ["C13 sandbox"],
    [response(404, { "content-type": "text/html" }, "<p>")],
    { status: 404, headers: { "content-security-policy": SANDBOX_POLICY } },
  ),
  answering(
    "H1: an error whose message reads like a page is sandboxed",
    ["C13 sandbox", "7 execution 500"],
    [{ fail: "<html><script>" }],
    {
      status: 500,
      headers: {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": SANDBOX_POLICY,
        "x-content-type-options": "nosniff",
      },
      body: { text: "ENDED_ERROR: <html><script>" },
    },
  ),
  answering(
    "H1: an answer without a type is sandboxed",
    ["C13 sandbox"],
    [response(200, {}, "<p>")],
    {
      status: 200,
      headers: {
        "content-type": null,
        "content-security-policy": SANDBOX_POLICY,
        "x-content-type-options": "nosniff",
      },
    },
  ),
  ...[204, 304].map((status) =>
    answering(`H1: a custom ${status} is sandboxed`, ["C13 sandbox"], [response(status)], {
      status,
      headers: { "content-security-policy": SANDBOX_POLICY, "x-content-type-options": "nosniff" },
    }),
  ),
  ...["x-content-type-options", "X-Content-Type-Options"].map((name) =>
    answering(
      `H1: a flow's own ${name} does not take the place of nosniff`,
      ["C13 sandbox"],
      [response(200, { "content-type": "text/plain", [name]: "none" })],
      { status: 200, headers: { "x-content-type-options": "nosniff" } },
    ),
  ),
  ...["content-security-policy", "CONTENT-SECURITY-POLICY"].map((name) =>
    answering(
      `H1: ${name} of a flow is a field of its own`,
      ["C13 sandbox", "C11 unaltered"],
      [response(200, { "content-type": "text/html", [name]: "sandbox allow-same-origin" }, "<p>")],
      {
        status: 200,
        headers: { "content-security-policy": `sandbox allow-same-origin, ${SANDBOX_POLICY}` },
      },
    ),
  ),
];

export const WEB_ROWS: CallRow[] = [
  {
    name: "a web-standard flow sees the request and answers with a response",
    covers: ["4.7 webhook_response"],
    webhook: "web",
    method: "PUT",
    path: "/a%20b/c?x=1",
    headers: { "x-custom": "One", "x-service-token": "<token>" },
    body: { n: 1 },
    expect: {
      status: 202,
      headers: { "x-from": "web", "content-type": /^application\/json/ },
      body: {
        contains: ['"method":"PUT"', '/a%20b/c?x=1"', '"body":"{\\"n\\":1}"', '"x-custom":"One"'],
      },
      execution: { status: "ENDED_SUCCESS", output_value: null },
    },
  },
  {
    name: "bytes that are no text come through",
    covers: ["C11 survives"],
    webhook: "web",
    path: "?bytes",
    expect: {
      status: 200,
      headers: { "content-type": "application/octet-stream" },
      body: { bytes: Uint8Array.from({ length: 256 }, (_, at) => at) },
    },
  },
  {
    name: "a web-standard flow answers 204",
    covers: ["C10 bodiless"],
    webhook: "web",
    path: "?empty",
    expect: { status: 204, body: { text: "" } },
  },
];
