import assert from "node:assert/strict";
import { test } from "node:test";
import { openDevScreen } from "../../src/cli/dev-screen.ts";
import { PRINTED } from "../../src/server/workers/printed.ts";

/** What the screen shows of a runner that printed this. */
function show(text: string): string {
  let shown = "";
  const screen = openDevScreen(
    "/none",
    (more) => (shown += more),
    () => 0,
  );
  screen.take({ level: "warn", msg: PRINTED, text });
  return shown;
}

test("what a runner printed is shown, and obeyed by no terminal", () => {
  assert.match(
    show("(node:1) Warning: old\u001b[2J\nand more\n"),
    /warn {2}A runner printed: \(node:1\) Warning: old \[2J and more/,
  );
});

test("what Node prints of its debugger is not", () => {
  const url = "ws://127.0.0.1:9229/4f0d";
  const told = `Debugger listening on ${url}\nFor help, see: https://nodejs.org/en/docs/inspector\n`;
  assert.equal(show(told), "");
  assert.equal(show("Debugger attached.\n"), "");
  assert.match(show(`Debugger attached.\nMore\n`), /printed: More/);
});
