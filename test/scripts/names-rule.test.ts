import { describe, it } from "node:test";
import { RuleTester } from "oxlint/plugins-dev";
import plugin from "../../scripts/names-rule.ts";

RuleTester.describe = (text, act) => {
  describe(text, act);
};
RuleTester.it = (text, act) => {
  it(text, act);
};

new RuleTester().run("case", plugin.rules.case as never, {
  valid: [
    "const isOpen = true; const { started_at: startedAt } = row;",
    "const { status_message } = row; answer({ created_at, is_enabled: true });",
    "const MOST_OPEN = 1; const _unused = { __proto__: null }; log.warn({ jump_ms: 3 });",
    "const text = 'is_open'; // is_open",
  ],
  invalid: [
    "const is_open = true;",
    "function open(data_dir) {}",
    "class Runner { is_open = true; }",
    "class Runner { #is_open = true; }",
    "const options = { most_bytes: 1 };",
    "const _is_open = true;",
    "const is_openNow = true;",
    "const isOpen_now = true;",
    "class Is_Open {}",
    { code: "const page = <Page is_open />;", filename: "page.tsx" },
  ].map((test) => ({ ...(typeof test === "string" ? { code: test } : test), errors: 1 })),
});

new RuleTester().run("words", plugin.rules.words as never, {
  valid: ["const gateway = nearest(headOf);", "const text = 'roster'; // the house"],
  invalid: [
    "const roster = 1;",
    "openShelf();",
    "class A { #nextLook = 1; }",
    "const A_PACE = 1;",
    "const seats = 2;",
    "const shelves = [];",
  ].map((code) => ({ code, errors: 1 })),
});
