import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openTarget } from "../blackbox/target.ts";
import { openWorkplace, type Workplace } from "./dev-session.ts";
import { all } from "./session.ts";

/** What authors write by mistake: the file's source, and what they are told to change. */
const MISTAKES: readonly (readonly [file: string, source: string | Uint8Array, told: RegExp])[] = [
  [
    "named.ts",
    "export async function run(flow) { return 1; }\n",
    /exports 'run' by name and has no default export: write 'export default'/,
  ],
  [
    "defined.ts",
    'import { defineFlow } from "flowhook";\nexport const greet = defineFlow({ run: () => 1 });\n',
    /exports 'greet' by name/,
  ],
  [
    "alone.ts",
    'import { defineFlow } from "flowhook";\ndefineFlow({ async run() {} });\n',
    /calls 'defineFlow' and has no default export: write 'export default defineFlow\(\.\.\.\)'/,
  ],
  [
    "kept.ts",
    'import { v, defineFlow } from "flowhook";\nconst flow = defineFlow({ run: () => v });\n',
    /calls 'defineFlow' and has no default export/,
  ],
  ["common.js", "module.exports = () => 1;\n", /'module\.exports' .* write 'export default'/],
  ["old.cjs", "module.exports = () => 1;\n", /Rename it to '\.js', as an ES module/],
  [
    "wide.ts",
    Buffer.from("\ufeffexport default async () => 1;\n", "utf16le"),
    /It is in UTF-16: save it as UTF-8/,
  ],
  ["page.tsx", "export default () => <b/>;\n", /Rename it to '\.ts', without JSX/],
  [
    "type.ts",
    'import { FlowContext } from "flowhook";\nexport default (flow: FlowContext) => 1;\n',
    /write: import type \{ FlowContext \} from "flowhook"/,
  ],
  [
    "bare.ts",
    'import "./_lib";\nexport default () => 1;\n',
    /Cannot find "\.\/_lib": .* write "\.\/_lib\.ts"/,
  ],
  ["ending.ts", 'import "./_lib.js";\nexport default () => 1;\n', /write "\.\/_lib\.ts"/],
  ["folder.ts", 'import "./_sub";\nexport default () => 1;\n', /write "\.\/_sub\/index\.ts"/],
  [
    "enum.ts",
    "enum A { b }\nexport default () => A.b;\n",
    /enum\.ts:1:1: TypeScript enum .*: types are erased, and nothing else/,
  ],
  [
    "parameter.ts",
    "class A { constructor(private b: number) {} }\nexport default () => new A(1);\n",
    /parameter\.ts:1:\d+: TypeScript parameter property .*: types are erased, and nothing else/,
  ],
  [
    "space.ts",
    "namespace A { export const b = 1 }\nexport default () => A.b;\n",
    /space\.ts:1:\d+: TypeScript namespace .*: types are erased, and nothing else/,
  ],
  [
    "twice.ts",
    'import {\n  a,\n} from "./_lib.ts";\nexport {\n  a,\n};\nconst b = 1;\nconst b = 2;\n' +
      "export default () => b;\n",
    /twice\.ts:8:7: .*already been declared/,
  ],
  [
    "equals.ts",
    'import a = require("a");\nexport default () => a;\n',
    /equals\.ts:1:\d+: TypeScript import equals .*: types are erased, and nothing else/,
  ],
];

const OTHERS = {
  "plugins/_lib.ts": "export const a = 1;\n",
  "plugins/_sub/index.ts": "export const a = 1;\n",
  // Modules that flows import, whatever they look like.
  "plugins/helping.ts": "export const run = () => 1;\n",
  "plugins/helper.cjs": "module.exports = 1;\n",
  "plugins/making.ts":
    'import { defineFlow } from "flowhook";\nexport const make = (run) => defineFlow({ run });\n',
  "plugins/plain.ts": "export const rate = 3;\n",
  "plugins/right.ts":
    'import { run } from "./helping.ts";\nimport helper from "./helper.cjs";\n' +
    'import { make } from "./making.ts";\nexport default make(() => run() + helper);\n',
  "plugins/right.test.ts": "throw new Error('a test is no flow');\n",
  "plugins/types.d.ts": "export const run: () => void;\n",
};

/** Of imports, and of TypeScript that cannot be erased: Deno says it otherwise, or runs it. */
const OF_NODE = /^(type|bare|ending|folder|enum|parameter|space|twice|equals)\.ts$/;
const isDeno = openTarget().name === "deno";

describe("mistakes of authors", { skip: openTarget().skip ?? false }, () => {
  let place: Workplace;
  let errors: ReadonlyMap<string, string | null>;
  before(async () => {
    const files = MISTAKES.map(([file, source]) => [`plugins/${file}`, source]);
    place = await openWorkplace({ ...OTHERS, ...Object.fromEntries(files) });
    const finished = await place.run(["check", "--json"]);
    assert.equal(finished.code, 1, all(finished));
    const { flows } = JSON.parse(finished.stdout) as {
      flows: { file: string; error: { message: string } | null }[];
    };
    errors = new Map(flows.map(({ file, error }) => [file, error?.message ?? null]));
  });
  after(() => place[Symbol.asyncDispose]());

  for (const [file, , told] of MISTAKES) {
    const skip = isDeno && OF_NODE.test(file) && "Deno's own words";
    test(`${file} says what to write`, { skip }, () => assert.match(errors.get(file) ?? "", told));
  }

  test("what is right, a test, and a module that a flow imports are no mistakes", () => {
    const listed = [...errors.keys()].filter((file) => MISTAKES.every(([name]) => name !== file));
    assert.deepEqual(listed, ["right.ts"]);
    assert.equal(errors.get("right.ts"), null);
  });

  test("check shows the place in the source", { skip: isDeno && "Deno runs it" }, async () => {
    const { stdout } = await place.run(["check"]);
    assert.match(
      stdout,
      /^enum +broken\n {2}enum\.ts:1:1: [^\n]+\n {2}enum\.ts:1\n {2}> 1 \| enum A/m,
    );
  });

  test("what is mended is ready", async () => {
    await place.write("plugins/named.ts", "export default async () => 1;\n");
    const { stdout } = await place.run(["check"]);
    assert.match(stdout, /^named +ready$/m);
  });
});
