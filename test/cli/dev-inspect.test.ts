import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { openTarget } from "../blackbox/target.ts";
import { findPort } from "../free-port.ts";
import { openWorkplace } from "./dev-session.ts";

const FLOW = `export default async (flow) => {
  const { name } = flow.input_value.query;
  debugger;
  return { hello: name };
};
`;

interface Told {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly callFrames?: readonly {
      readonly callFrameId: string;
      readonly location: { readonly scriptId: string; readonly lineNumber: number };
    }[];
    /** Of a script that was parsed. */
    readonly scriptId?: string;
    readonly url?: string;
  };
  readonly result?: { readonly result?: { readonly value?: unknown } };
}

/** A debugger of the DevTools protocol, as an editor is one. */
async function attach(port: number) {
  const targets = await poll("the debugger's port", async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => null);
    return answer === null ? null : ((await answer.json()) as { webSocketDebuggerUrl: string }[]);
  });
  const socket = new WebSocket(targets[0]!.webSocketDebuggerUrl);
  const urls = new Map<string, string>();
  const waiting: { fits: (told: Told) => boolean; resolve: (told: Told) => void }[] = [];
  socket.addEventListener("message", ({ data }) => {
    const told = JSON.parse(String(data)) as Told;
    const { scriptId, url } = told.params ?? {};
    if (scriptId !== undefined && url !== undefined) urls.set(scriptId, url);
    for (const one of waiting) if (one.fits(told)) one.resolve(told);
  });
  await new Promise((resolve) => socket.addEventListener("open", resolve));
  const until = (fits: (told: Told) => boolean): Promise<Told> =>
    new Promise((resolve) => waiting.push({ fits, resolve }));
  let count = 0;
  return {
    until,
    urlOf: (script: string) => urls.get(script),
    send(method: string, params: object = {}): Promise<Told> {
      const id = (count += 1);
      const answered = until((told) => told.id === id);
      socket.send(JSON.stringify({ id, method, params }));
      return answered;
    },
    close: () => socket.close(),
  };
}

const { name, skip } = openTarget();
const reason = name === "deno" ? "a debugger needs Node" : skip;

describe("dev --inspect", { skip: reason ?? false }, () => {
  test("a call waits for the debugger, stops where the flow says so, and goes on", async () => {
    await using place = await openWorkplace({ "plugins/hello.ts": FLOW });
    const port = await findPort();
    const dev = await place.dev("--inspect", "hello", "--inspect-port", String(port));
    assert.match(dev.shown(), new RegExp(`Debug +attach to 127\\.0\\.0\\.1:${port}`));
    const answer = fetch(`${dev.url}/api/latest/webhook/hello/call?name=Ada`, { method: "POST" });
    // Where the test fails, that is not what it says.
    answer.catch(() => {});
    const editor = await attach(port);
    const paused = editor.until(({ method }) => method === "Debugger.paused");
    await editor.send("Runtime.enable");
    await editor.send("Debugger.enable");
    await editor.send("Runtime.runIfWaitingForDebugger");
    const [frame] = (await paused).params?.callFrames ?? [];
    assert.equal(frame?.location.lineNumber, 2, "the third line of what the author wrote");
    assert.match(editor.urlOf(frame.location.scriptId) ?? "", /^file:.+\/hello\.ts$/);
    const { result } = await editor.send("Debugger.evaluateOnCallFrame", {
      callFrameId: frame?.callFrameId,
      expression: "name",
    });
    assert.equal(result?.result?.value, "Ada");
    await editor.send("Debugger.resume");
    assert.deepEqual(await (await answer).json(), { hello: "Ada" });
    assert.doesNotMatch(dev.shown(), /runner printed|Debugger attached/);
    editor.close();
  });

  test("a flow that is not there is named with those that are", async () => {
    await using place = await openWorkplace({ "plugins/hello.ts": FLOW });
    const { code, stderr } = await place.run(["dev", "--port", "0", "--inspect", "helo"]);
    assert.equal(code, 1);
    assert.match(stderr, /There is no flow "helo"\. Did you mean "hello"\?/);
  });
});
