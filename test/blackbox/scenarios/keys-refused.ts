import type { CallRow } from "../scenario.ts";
import { KEY } from "./keys-admitted.ts";

export const OTHER = "blackbox-canary-key-of-another";

/** MAX_BODY_BYTES of the group. */
/** Above what is parsed at once, so that both ways are looked at. */
export const LIMIT = 100_000;

const REFUSED: CallRow["expect"] = {
  status: 401,
  headers: {
    "content-type": "application/json; charset=utf-8",
    "www-authenticate": "Bearer",
    location: null,
  },
  body: { text: '"401 Unauthorized"' },
  execution: "none",
};

function refused(
  name: string,
  more: Omit<CallRow, "name" | "covers" | "webhook" | "expect"> & { covers?: CallRow["covers"] },
): CallRow {
  const { covers = ["5.2 rule 1"], ...request } = more;
  return { name, covers, webhook: "keyed", expect: REFUSED, forbid: [KEY], ...request };
}

export const REFUSED_ROWS: CallRow[] = [
  refused("no key", { covers: ["5.2 rule 1", "7 key 401", "C4 same body", "C1 nothing recorded"] }),
  refused("a wrong key", { headers: { authorization: "Bearer wrong" }, covers: ["7 key 401"] }),
  refused("the key of another webhook", { headers: { authorization: `Bearer ${OTHER}` } }),
  refused("an empty key", { path: "?key=" }),
  refused("the key with another scheme", { headers: { authorization: `Basic ${KEY}` } }),
  refused("the key without a scheme", { headers: { authorization: KEY } }),
  refused("the key in another header", { headers: { "x-api-key": KEY } }),
  refused("the key in upper case", { headers: { authorization: `Bearer ${KEY.toUpperCase()}` } }),
  refused("a part of the key", { headers: { authorization: `Bearer ${KEY.slice(0, -1)}` } }),
  refused("the key as a second value of the query", { path: `?key=wrong&key=${KEY}` }),
  refused("the name in another case", { path: `?KEY=${KEY}` }),
  refused("the key deep in the body", { body: { a: { key: KEY } }, covers: ["5.2 body"] }),
  refused("the key in a list", { body: [KEY, { key: KEY }], covers: ["5.2 body"] }),
  refused("the key in a body of another JSON type", {
    body: JSON.stringify({ key: KEY }),
    headers: { "content-type": "application/vnd.api+json" },
    covers: ["5.2 body"],
  }),
  refused("the key in YAML", {
    body: `key: ${KEY}\n`,
    headers: { "content-type": "application/yaml" },
    covers: ["5.2 body"],
  }),
  refused("the key in a form", {
    body: `key=${KEY}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    covers: ["5.2 body"],
  }),
  refused("the key in the body of GET", {
    method: "GET",
    body: { key: KEY },
    covers: ["5.2 body", "C2 ignored"],
  }),
  refused("a browser without a key is not sent to the login screen", {
    headers: { accept: "text/html" },
  }),
  refused("unparsable JSON without a key", {
    body: '{"key": ',
    headers: { "content-type": "application/json" },
    covers: ["C1 body held back", "C1 key before body"],
  }),
  refused("a wrong type without a key", {
    body: "x",
    headers: { "content-type": "text/plain" },
    covers: ["C1 key before body"],
  }),
  refused("a body too large of another type without a key", {
    body: "x".repeat(LIMIT * 2),
    headers: { "content-type": "text/plain" },
    covers: ["C1 key before body"],
  }),
];

export const ORDER_ROWS: CallRow[] = [
  {
    name: "a JSON body too large without a key",
    covers: ["C1 body held back"],
    webhook: "keyed",
    body: { text: "x".repeat(LIMIT) },
    expect: { status: 413, execution: "none" },
  },
  {
    name: "unparsable JSON with the key",
    covers: ["C1 body held back"],
    webhook: "keyed",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: "{",
    expect: { status: 400, body: { problem: { detail: /line 1.*column/i } }, execution: "none" },
    forbid: [KEY],
  },
  {
    name: "a wrong type with the key",
    covers: ["C1 key before body"],
    webhook: "keyed",
    path: `?key=${KEY}`,
    headers: { "content-type": "text/plain" },
    body: "x",
    expect: { status: 415, execution: "none" },
    forbid: [KEY],
  },
  {
    name: "a body with the key is not in raw_body",
    covers: ["C5 taken out"],
    webhook: "raw",
    method: "PUT",
    body: { key: KEY, a: 1 },
    expect: { status: 200, body: { json: { raw_body: null } } },
    forbid: [KEY],
  },
  {
    name: "a body without the key is in raw_body",
    covers: ["C5 stays"],
    webhook: "raw",
    method: "PUT",
    headers: { authorization: `Bearer ${KEY}` },
    body: { key: "own" },
    expect: { status: 200, body: { json: { raw_body: '{"key":"own"}' } } },
    forbid: [KEY],
  },
];
