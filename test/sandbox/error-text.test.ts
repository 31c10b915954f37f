import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { FlowLog } from "../../src/sandbox/flow-log.ts";
import { relative, toMessage, toStack } from "../../src/sandbox/text.ts";

/** What a log says of an error that a flow threw. */

class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code = "ERR_BAD_REQUEST";
  readonly status = 404;
  readonly tried = ["a", "b"];
  readonly config = { headers: { Authorization: "Bearer of-the-flow" } };
  readonly request = new (class Sent {
    readonly head = "Authorization: Bearer of-the-flow";
  })();
  readonly send = Object.assign(() => null, { token: "of-the-flow" });
}

test("an error's own members are told, and of the objects in it the kind alone", () => {
  const text = toStack(new ClientError("Request failed with status code 404"));
  assert.match(text, /^ClientError: Request failed with status code 404\n\s+at .*error-text\.test/);
  for (const line of [
    "code: 'ERR_BAD_REQUEST'",
    "status: 404",
    "tried: [ 'a', 'b' ]",
    "config: [Object]",
    "request: [Sent]",
    "send: [Function]",
  ])
    assert.ok(text.includes(line), `${line} in ${text}`);
  assert.doesNotMatch(text, /of-the-flow/);
});

test("causes and errors of errors are told in the same way", () => {
  const cause = new ClientError("inner");
  const all = new AggregateError([new ClientError("one"), new TypeError("two")], "all", { cause });
  const text = toStack(new Error("outer", { cause: all }));
  for (const line of [
    /^Error: outer\n/,
    /\[cause\]: AggregateError: all\n/,
    /\[errors\]: \[\n\s+ClientError: one\n/,
    /TypeError: two\n/,
    /\[cause\]: ClientError: inner\n/,
  ])
    assert.match(text, line);
  assert.doesNotMatch(text, /of-the-flow/);
});

test("both errors of what using throws are told, and in the message that of the block", () => {
  const block = new ClientError("in the block");
  const error = new SuppressedError(new TypeError("at its end"), block, "suppressed at disposal");
  const text = toStack(error);
  assert.match(text, /^SuppressedError: suppressed at disposal\n/);
  assert.match(text, /^ {2}error: TypeError: at its end\n/m);
  assert.match(text, /^ {2}suppressed: ClientError: in the block\n/m);
  assert.doesNotMatch(text, /of-the-flow/);
  assert.equal(toMessage(error), "suppressed at disposal: in the block");
  const plain = Object.assign(new Error("plain"), { error: "a text", suppressed: 1 });
  assert.match(toStack(plain), /error: 'a text',\n\s+suppressed: 1/);
  assert.equal(toMessage(plain), "plain");
});

test("of several ends that fail, the log and the message tell what the block threw", () => {
  const hidden = "/hidden/program";
  const frames = Array.from(
    { length: 10 },
    (_, at) => `\n    at work${at} (${hidden}/${"a".repeat(150)}.js:${at}:1)`,
  ).join("");
  const fail = (text: string) =>
    Object.assign(new Error(text), {
      stack: `Error: ${text}${frames}\n    at own (/v/flow.ts:1:2)`,
    });
  let thrown = fail("in the block");
  for (const name of ["third", "second", "first"])
    thrown = Object.assign(new SuppressedError(fail(name), thrown, "suppressed"), {
      stack: `SuppressedError: suppressed${frames}`,
    });
  assert.equal(toMessage(thrown), "suppressed: in the block");
  const lines: string[] = [];
  const tidy = (text: string) => relative(text, "/v", [hidden]);
  const log = new FlowLog(10, tidy, ({ text }) => lines.push(text));
  log.write("error", [toStack(thrown)]);
  assert.match(String(lines), /Error: in the block\n\s+at own \(flow\.ts:1:2\)/);
  log.write("error", [`${"x".repeat(3900)}${frames}`]);
  assert.doesNotMatch(String(lines), /hidden/);

  const circle: Error & { suppressed?: unknown } = new Error("circle");
  circle.suppressed = circle;
  assert.equal(toMessage(circle), "circle: circle");
});

test("errors that lead back to themselves, long chains and odd members are told", () => {
  const circle: Error & { list?: unknown } = new Error("circle");
  circle.cause = circle;
  circle.list = [circle, [{ a: 1 }], { a: 1 }];
  assert.match(
    toStack(circle),
    /Error: circle[^]*list: \[ \[Circular \*1\], \[Array\], \[Object\] \]/,
  );

  let chain = new Error("0");
  for (let at = 1; at < 10_000; at += 1) chain = new Error(String(at), { cause: chain });
  assert.match(toStack(chain), /^Error: 9999\n/);

  const odd = new Error("odd");
  for (const name of ["stack", "message", "other"])
    Object.defineProperty(odd, name, {
      enumerable: true,
      get: () => {
        throw new Error("of the getter");
      },
    });
  assert.doesNotMatch(toStack(odd), /of the getter/);
});

test("an error is told with its stack, whatever it is made of", () => {
  class Private extends Error {
    readonly #reason = "of its own";
    [inspect.custom]() {
      return this.#reason;
    }
  }
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const errors = {
    frozen: Object.freeze(new Error("frozen")),
    "caused by what is frozen": new Error("outer", { cause: Object.freeze(new Error("inner")) }),
    "an object as its message": Object.assign(new Error(), { message: { token: "of-the-flow" } }),
    "a function as its name": Object.assign(new Error("named"), { name: () => 1 }),
    "a form of its own": new Private("private"),
    "a revoked proxy": Object.assign(new Error("revoked"), { proxy }),
  };
  for (const [name, error] of Object.entries(errors)) {
    const text = toStack(error);
    assert.match(text, /\n\s+at .*error-text\.test/, name);
    assert.doesNotMatch(text, /of-the-flow|cannot be printed/, name);
  }
});
