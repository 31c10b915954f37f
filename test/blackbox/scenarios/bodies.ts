import { ABSENT, type CallRow, type Group } from "../scenario.ts";
import { accepted, JSON_ROWS, refused, typed, YAML_ROWS } from "./bodies-json-yaml.ts";

const LIMIT = 4096;

const OTHER_ROWS: CallRow[] = [
  {
    name: "a form gives an object of texts",
    covers: ["C3 form"],
    ...typed("application/x-www-form-urlencoded", "name=Ada+L&age=36&empty=&u=%C3%BC"),
    expect: accepted({ name: "Ada L", age: "36", empty: "", u: "ü" }),
  },
  {
    name: "a form with a name like __proto__",
    covers: ["C3 form", "C6 plain data"],
    ...typed("application/x-www-form-urlencoded; charset=UTF-8", "__proto__=x&a=1", {
      path: "?async=0",
    }),
    expect: { status: 200, body: { contains: ['"__proto__":"x"'] } },
  },
  ...['{"a":1}', "[1,2]", ' {"a": "b=c&d"}'].map((body): CallRow => ({
    name: `JSON sent as a form, as curl -d does: ${body}`,
    covers: ["C3 curl -d"],
    ...typed("application/x-www-form-urlencoded", body),
    expect: refused(415, /content-type: application\/json/i),
  })),
  ...[
    "text/plain",
    "application/xml",
    "multipart/form-data; boundary=x",
    "application/octet-stream",
    "json",
    "",
    "application/json-seq",
    "text/json",
  ].map((type): CallRow => ({
    name: `a body as "${type}" is refused`,
    covers: ["C3 other"],
    ...typed(type, "{}"),
    expect: refused(415, /./),
  })),
  {
    name: "a body without a type is refused",
    covers: ["C3 other"],
    webhook: "echo",
    path: "?async",
    body: "{}",
    expect: refused(415, /./),
  },
  {
    name: "Content-Type is ignored where no body is sent",
    covers: ["4.1 no body", "C2 absent"],
    webhook: "echo",
    path: "?async",
    method: "POST",
    headers: { "content-type": "text/plain" },
    expect: { status: 201, input: { json: ABSENT, headers: { "content-type": "text/plain" } } },
  },
  {
    name: "Content-Type is ignored where the body is empty",
    covers: ["4.1 no body", "C2 absent"],
    ...typed("application/json", ""),
    expect: { status: 201, input: { json: ABSENT } },
  },
  {
    name: "an empty chunked body is no body",
    covers: ["4.1 no body"],
    ...typed("application/xml", ""),
    chunked: true,
    expect: { status: 201, input: { json: ABSENT } },
  },
  {
    name: "a chunked body is read",
    covers: ["C2 methods with body"],
    ...typed("application/json", '{"a":1}'),
    chunked: true,
    expect: accepted({ a: 1 }),
  },
  {
    name: "a body of exactly the limit",
    covers: ["C3 too large"],
    ...typed("application/json", JSON.stringify("x".repeat(LIMIT - 2))),
    expect: { status: 201 },
  },
  {
    name: "a body one byte over the limit",
    covers: ["C3 too large"],
    ...typed("application/json", JSON.stringify("x".repeat(LIMIT - 1))),
    expect: refused(413, new RegExp(String(LIMIT))),
  },
  {
    name: "a chunked body over the limit",
    covers: ["C3 too large"],
    ...typed("application/json", JSON.stringify("x".repeat(LIMIT - 1))),
    chunked: true,
    expect: refused(413, new RegExp(String(LIMIT))),
  },
  {
    name: "too large is told before the wrong type",
    covers: ["C3 too large", "C3 other"],
    ...typed("text/plain", "x".repeat(LIMIT + 1)),
    expect: refused(413, /./),
  },
  ...["multipart/form-data; boundary=x", "image/png"].map((type): CallRow => ({
    name: `the wrong type is told before bytes that are no text: ${type}`,
    covers: ["C3 other"],
    ...typed(type, Buffer.from([0x89, 0x50, 0xff])),
    expect: refused(415, /./),
  })),
  ...["gzip", "br", "deflate"].map((encoding): CallRow => ({
    name: `a Content-Encoding of ${encoding} is refused`,
    covers: ["C15 encoding"],
    ...typed("application/json", "{}"),
    headers: { "content-type": "application/json", "content-encoding": encoding },
    expect: refused(415, /encoding/i),
  })),
];

const RAW_ROWS: CallRow[] = [
  {
    name: "raw_body is the body as it was sent",
    covers: ["C5 stays"],
    webhook: "raw",
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: '{ "b" : 1,\n"a":"ü" }',
    expect: { status: 200, body: { json: { raw_body: '{ "b" : 1,\n"a":"ü" }' } } },
  },
  {
    name: "raw_body is absent without a body",
    covers: ["C2 absent"],
    webhook: "raw",
    expect: { status: 200, body: { json: { raw_body: null } } },
  },
];

export const BODIES: Group = {
  name: "bodies",
  config: { MAX_BODY_BYTES: LIMIT },
  flows: ["echo", "raw-body"],
  webhooks: { echo: { flow: "echo" }, raw: { flow: "raw-body" } },
  rows: [...JSON_ROWS, ...YAML_ROWS, ...OTHER_ROWS, ...RAW_ROWS],
};
