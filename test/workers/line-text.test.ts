import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decode as decodeInThread, encode as encodeInThread } from "../../src/sandbox/line-text.ts";
import {
  CONDITIONS,
  type FromThread,
  type ToThread,
} from "../../src/shared/wire/thread-messages.ts";
import { decode, encode } from "../../src/server/workers/line-text.ts";

/** The two halves of what server and thread say to each other. */

const text = fc.oneof(fc.string(), fc.constantFrom("", "\n", '"\n', "é€😀", "[1]\n[2]"));
const textOrNull = fc.option(text, { nil: null });
const count = fc.nat();

const toThread: fc.Arbitrary<ToThread> = fc.oneof(
  fc.record({
    type: fc.constant("run" as const),
    round: count,
    jobs: fc.array(
      fc.record({
        id: text,
        execution: text,
        input_value: text,
        raw_body: textOrNull,
        raw_body_at: fc.option(count, { nil: null }),
        base_url: text,
        target: textOrNull,
      }),
    ),
  }),
  fc.record({ type: fc.constant("abort" as const), id: text, reason: text }),
  fc.record({
    type: fc.constant("answer" as const),
    number: count,
    answer: fc.oneof(
      fc.record({ ok: fc.constant(true as const), value: text }),
      fc.record({ ok: fc.constant(false as const), message: text }),
    ),
  }),
);

const fromThread: fc.Arbitrary<FromThread> = fc.oneof(
  fc.record({
    type: fc.constant("ended" as const),
    id: text,
    ms: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map((ms) => ms + 0),
    condition: fc.constantFrom(...CONDITIONS),
    ending: fc.record({
      status: fc.constantFrom("ENDED_SUCCESS" as const, "ENDED_ERROR" as const),
      status_message: textOrNull,
      output_value: textOrNull,
      response: textOrNull,
    }),
  }),
  fc.record({
    type: fc.constant("log" as const),
    id: text,
    line: fc.record({
      at: count,
      level: fc.constantFrom("debug" as const, "info" as const, "warn" as const, "error" as const),
      text,
    }),
  }),
  fc.record({ type: fc.constant("stray" as const), id: text, text }),
  fc.record({
    type: fc.constant("operation" as const),
    number: count,
    request: fc.record({
      id: text,
      operation: fc.constantFrom("start_execution" as const, "setting" as const, "secret" as const),
      name: text,
      value: textOrNull,
      wait: fc.boolean(),
    }),
  }),
);

test("a thread reads what the server has said", () => {
  fc.assert(
    fc.property(toThread, (message) =>
      assert.deepEqual(decodeInThread(encode(message)), structuredClone(message)),
    ),
  );
});

test("the server reads what a thread has said", () => {
  fc.assert(
    fc.property(fromThread, (message) =>
      assert.deepEqual(decode(encodeInThread(message)), structuredClone(message)),
    ),
  );
});

test("a flow that gave every object a toJSON changes nothing of it", () => {
  const ending = { status: "ENDED_SUCCESS", status_message: "said", response: null } as const;
  const message: FromThread = {
    type: "ended",
    id: "id",
    ms: 1,
    condition: "sound",
    ending: { ...ending, output_value: "1" },
  };
  Object.assign(Object.prototype, { toJSON: () => "forged" });
  const said = encodeInThread(message);
  Reflect.deleteProperty(Object.prototype, "toJSON");
  assert.deepEqual(decode(said), message);
});

test("what was changed on its way, or made up, is a message or none, and nothing between", () => {
  const made = fc.oneof(
    fc.string(),
    fc.tuple(fc.json(), fc.string()).map(([head, rest]) => `${head}\n${rest}`),
    fc
      .tuple(
        fc.constantFrom("ended", "log", "stray", "operation", "run"),
        fc.array(fc.jsonValue()),
        text,
      )
      .map(([type, values, rest]) => `${JSON.stringify([type, ...values])}\n${rest}`),
    fc
      .tuple(fromThread, fc.nat(100), fc.string({ maxLength: 3 }))
      .map(([message, at, put]) => encodeInThread(message).slice(0, at) + put),
  );
  fc.assert(
    fc.property(made, (said) => {
      const message = decode(said);
      if (message !== null) assert.deepEqual(decode(encodeInThread(message)), message);
    }),
    { numRuns: 5000 },
  );
});
