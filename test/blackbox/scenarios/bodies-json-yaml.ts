import type { CallRow } from "../scenario.ts";

export function typed(
  type: string,
  body: string | Uint8Array,
  more: Partial<CallRow> = {},
): Pick<CallRow, "webhook" | "path" | "headers" | "body"> {
  return { webhook: "echo", path: "?async", headers: { "content-type": type }, body, ...more };
}

export function accepted(json: unknown): CallRow["expect"] {
  return { status: 201, input: { json } };
}

export function refused(status: number | number[], detail: RegExp): CallRow["expect"] {
  return { status, body: { problem: { detail } }, execution: "none" };
}

const POSITION = /line \d+.*column \d+/i;

export const JSON_ROWS: CallRow[] = [
  ...[
    ["an object", '{"a":[1,2.5,null,true,"ü"]}', { a: [1, 2.5, null, true, "ü"] }],
    ["a list", "[1]", [1]],
    ["a number", "7", 7],
    ["a text", '"text"', "text"],
    ["null", "null", null],
    ["false", "false", false],
    ["an object with white space around", ' \r\n{"a":1}\n', { a: 1 }],
  ].map(([what, body, json]): CallRow => ({
    name: `JSON: ${what as string}`,
    covers: ["4.1 body types", "C3 json", "4.3 json"],
    ...typed("application/json", body as string),
    expect: accepted(json),
  })),
  ...[
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/vnd.api+json",
    "application/ld+json;profile=x",
  ].map((type): CallRow => ({
    name: `JSON as ${type}`,
    covers: ["C3 json"],
    ...typed(type, '{"a":1}'),
    expect: accepted({ a: 1 }),
  })),
  {
    name: "JSON that is cut off",
    covers: ["C3 unparsable"],
    ...typed("application/json", '{\n  "a": 1,\n  "b": '),
    expect: refused(400, /line 3.*column \d+/i),
    forbid: ["node_modules", "    at "],
  },
  ...["{'a':1}", "{a:1}", "[1,]", '{"a":1}{"b":2}', "undefined", "NaN", "\u00a0"].map(
    (body): CallRow => ({
      name: `no JSON: ${JSON.stringify(body)}`,
      covers: ["C3 unparsable"],
      ...typed("application/json", body),
      expect: refused(400, POSITION),
    }),
  ),
  {
    name: "JSON nested 200 levels",
    covers: ["C3 nesting"],
    ...typed("application/json", "[".repeat(200) + "]".repeat(200)),
    expect: { status: 201 },
  },
  {
    name: "JSON nested 201 levels",
    covers: ["C3 nesting"],
    ...typed("application/json", "[".repeat(201) + "]".repeat(201)),
    expect: refused(400, /200/),
  },
  {
    name: "brackets in a JSON text are no levels",
    covers: ["C3 nesting"],
    ...typed("application/json", JSON.stringify({ text: `\\"${"[{".repeat(300)}` })),
    expect: accepted({ text: `\\"${"[{".repeat(300)}` }),
  },
  {
    name: "JSON that is no UTF-8",
    covers: ["C3 utf-8"],
    ...typed("application/json", Uint8Array.from([0x22, 0xc3, 0x28, 0x22])),
    expect: refused(400, /UTF-8/),
  },
];

/** Texts of so many levels, by how they are written. */
const NESTED: Readonly<Record<string, (levels: number) => string>> = {
  "empty lists": (levels) => "[".repeat(levels) + "]".repeat(levels),
  "lists of a text": (levels) => `${"[".repeat(levels)}a${"]".repeat(levels)}`,
  objects: (levels) => `${"{a: ".repeat(levels)}1${"}".repeat(levels)}`,
  "list items": (levels) => `${"- ".repeat(levels)}a\n`,
};

export const YAML_ROWS: CallRow[] = [
  ...["application/yaml", "application/x-yaml", "text/yaml", "text/yaml; charset=utf-8"].map(
    (type): CallRow => ({
      name: `YAML as ${type}`,
      covers: ["4.1 body types", "C3 yaml", "4.3 json"],
      ...typed(type, "name: Ada\nlist:\n  - 1\n  - yes\n  - true\n  - ~\n"),
      expect: accepted({ name: "Ada", list: [1, "yes", true, null] }),
    }),
  ),
  {
    name: "YAML: a date stays a text under the core schema",
    covers: ["C3 yaml schema"],
    ...typed("application/yaml", "day: 2024-02-29\nhex: 0x1F\n"),
    expect: accepted({ day: "2024-02-29", hex: 31 }),
  },
  {
    name: "YAML: __proto__ is a name",
    covers: ["C6 plain data"],
    ...typed("application/yaml", "__proto__:\n  admin: true\n", { path: "?async=0" }),
    method: "PUT",
    expect: { status: 200, body: { contains: ['"__proto__":{"admin":true}'] } },
  },
  {
    name: "YAML that cannot be read",
    covers: ["C3 unparsable"],
    ...typed("application/yaml", "a: 1\nb: [1,\nc: }"),
    expect: refused(400, POSITION),
  },
  ...["a: !!js/function 'x'", "a: !custom 1", "--- 1\n--- 2\n"].map((body): CallRow => ({
    name: `YAML that is refused: ${JSON.stringify(body)}`,
    covers: ["C3 yaml schema"],
    ...typed("application/yaml", body),
    expect: refused(400, /./),
  })),
  {
    name: "YAML: a few aliases are fine",
    covers: ["C3 yaml aliases"],
    ...typed("application/yaml", "base: &b {x: 1}\none: *b\ntwo: *b\n"),
    expect: accepted({ base: { x: 1 }, one: { x: 1 }, two: { x: 1 } }),
  },
  {
    name: "YAML: aliases that grow without end",
    covers: ["C3 yaml aliases"],
    ...typed("application/yaml", bomb()),
    expect: refused([400, 413], /alias|size|large|expand/i),
  },
  {
    name: "YAML: an alias of itself",
    covers: ["C3 yaml aliases"],
    ...typed("application/yaml", "a: &a [*a]\n"),
    expect: refused(400, /./),
  },
  ...Object.entries(NESTED).flatMap(([kind, nest]): CallRow[] => [
    {
      name: `YAML nested 200 levels: ${kind}`,
      covers: ["C3 nesting"],
      ...typed("application/yaml", nest(200)),
      expect: { status: 201 },
    },
    ...[201, 202, 300].map((levels) => ({
      name: `YAML nested ${levels} levels: ${kind}`,
      covers: ["C3 nesting"] as const,
      ...typed("application/yaml", nest(levels)),
      expect: refused(400, /deeper than 200 levels/),
    })),
  ]),
  {
    name: "YAML that is no UTF-8",
    covers: ["C3 utf-8"],
    ...typed("application/yaml", Uint8Array.from([0x61, 0x3a, 0x20, 0xff])),
    expect: refused(400, /UTF-8/),
  },
];

/** Nine levels of nine aliases each: 387 million texts from less than 500 bytes. */
function bomb(): string {
  const names = "abcdefghi";
  const lines = names.split("").map((name, at) => {
    const inner = at === 0 ? '"lol"' : `*${names[at - 1]}`;
    return `${name}: &${name} [${Array.from({ length: 9 }, () => inner).join(", ")}]`;
  });
  return lines.join("\n");
}
