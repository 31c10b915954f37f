import assert from "node:assert/strict";
import { test } from "node:test";
import { checkResponse } from "../../src/server/executions/custom-response.ts";

const check = (response: object, sandboxed = true) =>
  checkResponse(JSON.stringify({ status: 200, headers: {}, body: "", ...response }), sandboxed);

const FAULTS: readonly [object, RegExp][] = [
  [{ status: 199 }, /199.*200 to 599/],
  [{ status: 600 }, /600/],
  [{ status: null }, /null/],
  [{ status: "200" }, /"200"/],
  [{ status: 200.5 }, /200\.5/],
  [{ body: 5 }, /type number/],
  [{ headers: [] }, /a list/],
  [{ headers: { "a b": "c" } }, /"a b" is no header name/],
  [{ headers: { a: "x\r\nset-cookie: y" } }, /RFC 9110/],
  [{ headers: { a: "\0" } }, /RFC 9110/],
  [{ headers: { a: "\u{1F600}" } }, /RFC 9110/],
  [{ headers: { a: 1 } }, /type number/],
  [{ body_encoding: "hex" }, /base64/],
];

for (const [response, error] of FAULTS)
  test(`${JSON.stringify(response)} breaks a rule`, () => {
    const checked = check(response);
    assert.ok("error" in checked);
    assert.match(checked.error, error);
  });

test("headers of the connection, the origin and the own cookie are left out with a warning", () => {
  const headers = {
    Connection: "close",
    "proxy-authenticate": "x",
    "Alt-Svc": "x",
    "set-cookie": ["a=1", " service-token =x"],
    "x-kept": "yes",
  };
  const checked = check({ headers });
  assert.ok("response" in checked);
  assert.deepEqual(checked.response.headers, { "set-cookie": "a=1", "x-kept": "yes" });
  assert.equal(checked.warnings.length, 4);
  const open = check({ headers }, false);
  assert.ok("response" in open && open.response.headers["Alt-Svc"] === "x");
});

test("a header that the service sets is left out with a warning that says so", () => {
  const names = ["X-Request-Id", "flowhook-execution-id"];
  for (const sandboxed of [true, false])
    for (const name of names)
      assert.deepEqual(check({ headers: { [name]: "mine", "x-kept": "yes" } }, sandboxed), {
        response: { status: 200, headers: { "x-kept": "yes" }, body: "" },
        warnings: [`Header "${name}" was left out of the response: the service sets it`],
      });
});

test("C1: a text that is no JSON object breaks a rule", () => {
  for (const text of ["null", "[]", "7", '"a"', "{", ""])
    assert.deepEqual(checkResponse(text, true), { error: "it is no JSON object" });
});

test("L4: headers are bounded in number and in bytes", () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-${at}`, ""]));
  assert.ok("response" in check({ headers: Object.fromEntries(Object.entries(many).slice(1)) }));
  for (const [headers, error] of [
    [many, /more than 100 headers/],
    [{ "set-cookie": Array.from({ length: 101 }, (_, at) => `c${at}=1`) }, /more than 100 headers/],
    [{ "x-long": "x".repeat(16 * 1024) }, /more than 16384 bytes/],
    [{ [`x${"y".repeat(1e6)}`]: "" }, /more than 16384 bytes/],
  ] as const) {
    const checked = check({ headers });
    assert.ok("error" in checked);
    assert.match(checked.error, error);
  }
});

test("L4: a fault is short, however long what it names", () => {
  const long = "é".repeat(1e6);
  for (const response of [{ status: long }, { body_encoding: long }, { headers: { [long]: "" } }]) {
    const checked = check(response);
    assert.ok("error" in checked && checked.error.length < 150);
  }
});

test("L7: headers that act on the whole origin are left out", () => {
  const names =
    "NEL Report-To Reporting-Endpoints Accept-CH Critical-CH Use-As-Dictionary Set-Login " +
    "Sec-Session-Registration Secure-Session-Registration Origin-Agent-Cluster " +
    "Activate-Storage-Access Shared-Storage-Write Speculation-Rules IdP-SignIn-Status";
  for (const name of names.split(" ")) {
    const checked = check({ headers: { [name]: "x" } });
    assert.ok("response" in checked);
    assert.deepEqual(checked.response.headers, {}, name);
    const open = check({ headers: { [name]: "x" } }, name.startsWith("Proxy"));
    assert.ok("response" in open && open.response.headers[name] === "x");
  }
});

test("L7: the service's own cookie is left out in each of its spellings", () => {
  const own = [
    "service-token=x",
    " service-token =x; Path=/",
    "=service-token=x",
    "= service-token=x",
    "service-token",
    "\tservice-token=x",
  ];
  const checked = check({ headers: { "set-cookie": [...own, "b=service-token=x", "a=1"] } });
  assert.ok("response" in checked);
  assert.deepEqual(checked.response.headers, { "set-cookie": ["b=service-token=x", "a=1"] });
});

const CALL = "/api/latest/webhook/a/call";

function cookiesOf(cookies: readonly string[], sandboxed = true): string[] {
  const checked = check({ headers: { "set-cookie": cookies } }, sandboxed);
  assert.ok("response" in checked);
  const leftOut = cookies.length - [checked.response.headers["set-cookie"] ?? []].flat().length;
  assert.equal(checked.warnings.length, leftOut > 0 ? 1 : 0);
  return [checked.response.headers["set-cookie"] ?? []].flat();
}

test("H1: cookies of a flow go no further than to calls", () => {
  const kept = [
    "a=1",
    "a=1; HttpOnly; Max-Age=60",
    `a=1; Path=${CALL}`,
    `a=1;path=${CALL}/below`,
    `a=1; Path=/prefix${CALL}`,
    "a=1; Path=",
    "a=1; Path=relative",
    `a="Domain=b"; Path = ${CALL} `,
  ];
  const leftOut = [
    "a=1; Path=/",
    "a=1;path=/",
    "a=1; PATH\t=\t/ui",
    "a=1; Path=/api/latest/webhook/a",
    "a=1; Path=/api/latest/webhook/a/calls",
    "a=1; Path=/api/latest/webhook//call",
    `a=1; Path=/; Path=${CALL}`,
    `a=1; Path=${CALL}; Path=/`,
    'a="; Path=/; b="',
    `a=1; Path=${CALL}; Domain=example.test`,
    "a=1; domain",
  ];
  assert.deepEqual(cookiesOf([...kept, ...leftOut]), kept);
  assert.deepEqual(cookiesOf([...kept, ...leftOut], false), [...kept, ...leftOut]);
});

test("the warning of a cookie that is left out names it and the reason", () => {
  const below = "does not keep it below /api/latest/webhook/NAME/call";
  const rows: [cookies: string[], told: string][] = [
    [["a=1", "sid=hush; Path=/"], `cookie "sid": its "Path=/" ${below}`],
    [["sid=hush; domain = b.test"], `cookie "sid": its "domain = b.test" ${below}`],
    [
      ["sid=; Path=/ui", "b=1; Path=/", "c=1; Path=/"],
      `cookie "sid": its "Path=/ui" ${below}, and 2 more`,
    ],
    [["service-token=hush"], 'cookie "service-token" can be taken for the service\'s own'],
    [["=service-token=hush"], 'cookie "" can be taken for the service\'s own'],
    [["hush; Path=/"], `cookie "": its "Path=/" ${below}`],
    [
      [`big=${"x".repeat(5000)}`],
      'cookie "big": the cookies of one answer have more than 4096 bytes',
    ],
  ];
  for (const [cookies, told] of rows) {
    const checked = check({ headers: { "set-cookie": cookies } });
    assert.ok("response" in checked);
    assert.deepEqual(checked.warnings, [
      `Header "set-cookie" was left out of the response: ${told}`,
    ]);
  }
});

test("H1: cookies of one answer are bounded together", () => {
  const cookie = (name: string, length: number) => `${name}=`.padEnd(length, "x");
  const kept = [cookie("a", 3900), cookie("b", 196)];
  const all = [kept[0]!, cookie("c", 197), kept[1]!, cookie("d", 2)];
  assert.deepEqual(cookiesOf(all), kept);
  const headers = { "Set-Cookie": cookie("a", 3900), "set-cookie": cookie("b", 3900) };
  const checked = check({ headers });
  assert.ok("response" in checked);
  assert.deepEqual(checked.response.headers, { "Set-Cookie": headers["Set-Cookie"] });
  assert.deepEqual(cookiesOf(all, false), all);
});

test("H1: a cookie whose first pair is empty is left out", () => {
  const cookies = ["; service-token=x", ";service-token=x", " ; a=1", "=; service-token=x", ""];
  for (const sandboxed of [true, false]) assert.deepEqual(cookiesOf(cookies, sandboxed), []);
});
