import { describe, it } from "node:test";
import { RuleTester } from "oxlint/plugins-dev";
import plugin from "../../scripts/captured-rule.ts";

RuleTester.describe = (text, act) => {
  describe(text, act);
};
RuleTester.it = (text, act) => {
  it(text, act);
};

const { captured } = plugin.rules;

new RuleTester().run("captured", captured as never, {
  valid: [
    "const list = [1].map((x) => x);",
    "const { push } = Array.prototype; function later(a) { return push; }",
    "function later(a) { for (let at = 0; at < a.length; at += 1) a[at] = { ...a[0] }; }",
    "function later(own) { own.settle(); own.answer(1); return `${own}`; }",
    { code: "function before(a) { return a.map(String); }", options: [{ setup: ["before"] }] },
    { code: "function later() { return new Response(); }", options: [{ web: ["Response"] }] },
    "function later(a) { const { mine } = a; return a.mine ?? undefined; }",
    "class Later { static kept = JSON; own = 1; }",
    { code: "class Later { static accessor kept = JSON; }", filename: "later.ts" },
    { code: "{ using kept = [1].values(); }", filename: "later.ts" },
    "function later(a, b) { return a[`pu${b}`](1); }",
    "function later(a) { (a?.mine)(1); return a?.push; }",
    "const later = () => import('./other.ts');",
    "import * as js from '../shared/intrinsics.ts'; function later(a) { js.push(a, js.JSON); }",
    "import { stat } from 'node:fs'; const kept = stat; function later() { return kept; }",
  ],
  invalid: [
    "function later(a) { a.push(1); }",
    "import * as js from './others.ts'; function later(a) { js.push(a); }",
    "import * as js from './intrinsics.ts'; function later(a) { a.push(js.push(a)); }",
    "import * as js from './intrinsics.ts'; function later(js) { js.push(1); }",
    "const later = (set) => set.has(1);",
    "function later(text) { return /a/.test(text); }",
    "function later(map) { return map.size; }",
    "function later(a) { for (const one of a) later(one); }",
    "function later(a) { const [first] = a; return first; }",
    "function later(a, b) { return a(...b); }",
    "function later(a) { return [...a]; }",
    "function later(a) { return JSON; }",
    "function later(a) { return new Map(a); }",
    "function later() { return process; }",
    "function later() { clearTimeout(1); }",
    "function later() { return new Response(); }",
    "function later(map) { const { size } = map; return size; }",
    "function later({ size }) { return size; }",
    "function later(a) { a?.push(1); }",
    "function later(a) { a['push'](1); }",
    "function later(a) { a.map`1`; }",
    "function later(map) { return map['size']; }",
    "function later(a) { a[`push`](1); }",
    "function later(map) { return map[`size`]; }",
    "function later({ [`size`]: s }) { return s; }",
    "const later = () => import(`node:fs`);",
    "function later(a) { (a?.push)(1); }",
    { code: "class Later { accessor own = JSON; }", filename: "later.ts" },
    { code: "function later(a) { using b = a; }", filename: "later.ts" },
    { code: "async function later(a) { await using b = a; }", filename: "later.ts" },
    "class Later { own = JSON; }",
    "class Later { #own = [1].map(1); }",
    "import { stat } from 'fs'; function later() { return stat; }",
    "const later = () => import('node:fs');",
    { code: "function later(a: any) { a.push!(1); }", filename: "later.ts" },
    { code: "function later(a: any) { (a.push as any)(1); }", filename: "later.ts" },
    "import { stat } from 'node:fs'; function later() { return stat; }",
    "import fs from 'node:fs'; const later = () => fs;",
    { code: "function before(a) { return () => a.map(1); }", options: [{ setup: ["before"] }] },
  ].map((test) => ({ ...(typeof test === "string" ? { code: test } : test), errors: 1 })),
});
