import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { toOutcome } from "../../src/server/executions/outcome.ts";
import { toMessages } from "../../src/shared/wire/channel.ts";
import { FrameReader, toFrame } from "../../src/shared/wire/frames.ts";
import { isEnding, type Ending } from "../../src/shared/wire/protocol.ts";
import { isFromRunner } from "../../src/server/workers/shapes.ts";

/** Whatever comes over the wall is typed, or refused: it never throws where nobody expects it. */

const LIMITS = { max_output_bytes: 1000, sandboxed: true };

const SUCCESS: Ending = {
  status: "ENDED_SUCCESS",
  status_message: null,
  output_value: "null",
  response: null,
};

/** Texts near to what is expected, so that the checks behind the first are reached too. */
const text = fc.oneof(
  fc.string(),
  fc.json(),
  fc.constantFrom("null", "[]", "7", '"a"', "{", "}", '{"a":1},"status":"PENDING"', "[[[["),
  fc
    .record(
      {
        status: fc.anything(),
        headers: fc.oneof(fc.anything(), fc.dictionary(fc.string(), fc.anything())),
        body: fc.anything(),
        body_encoding: fc.anything(),
      },
      { requiredKeys: [] },
    )
    .map(
      (value) => JSON.stringify(value, (_, part) => (typeof part === "bigint" ? 1 : part)) ?? "",
    ),
);

test("C1: any ending becomes an outcome whose texts are JSON", () => {
  fc.assert(
    fc.property(text, fc.option(text), fc.boolean(), (output_value, response, failed) => {
      const status = failed ? "ENDED_ERROR" : "ENDED_SUCCESS";
      const ending: Ending = { ...SUCCESS, status, output_value, response };
      assert.ok(isEnding(ending));
      const outcome = toOutcome("id", ending, LIMITS);
      if (outcome.output_value !== null) JSON.parse(outcome.output_value);
      if (outcome.response === null) return;
      assert.ok(outcome.response.status >= 200 && outcome.response.status <= 599);
      assert.equal(typeof outcome.response.body, "string");
    }),
    { numRuns: 3000 },
  );
});

test("C1: a message has no U+0000, which PostgreSQL's texts cannot hold", () => {
  const outcome = toOutcome("id", { ...SUCCESS, status_message: "a\0b\0" }, LIMITS);
  assert.equal(outcome.status_message, "a\u{fffd}b\u{fffd}");
});

test("C1: a result that is not one JSON value makes an error", () => {
  for (const output_value of ["", "{", '{"a":1},"status":"PENDING"', "1 2", "undefined"]) {
    const outcome = toOutcome("id", { ...SUCCESS, output_value }, LIMITS);
    assert.equal(outcome.status, "ENDED_ERROR");
    assert.equal(outcome.output_value, null);
    assert.match(outcome.status_message ?? "", /is no JSON/);
  }
});

test("C1: bytes are frames of the runner's, or the reader says that they are not", () => {
  const token = "0123456789abcdef";
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    fc.anything().map((value) => toFrame(token, JSON.stringify([value ?? null]))),
    fc.string().map((body) => {
      const frame = Buffer.from(`\0\0\0\0${token}${body}`);
      frame.writeUInt32BE(frame.length - 4, 0);
      return frame;
    }),
  );
  fc.assert(
    fc.property(fc.array(bytes, { maxLength: 5 }), fc.nat(50), (frames, cut) => {
      const reader = new FrameReader(token);
      const all = Buffer.concat(frames);
      const parts = [all.subarray(0, cut), all.subarray(cut)];
      try {
        for (const message of parts.flatMap((part) => reader.complete(part)).flatMap(toMessages))
          assert.equal(typeof isFromRunner(message), "boolean");
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof assert.AssertionError));
      }
    }),
    { numRuns: 2000 },
  );
});

test("C1: a message has a shape that is known, or is dropped", () => {
  const nearest = fc.record({
    type: fc.oneof(
      fc.constantFrom("told", "started", "recalled", "exited", "inspected", "heartbeat"),
      fc.string(),
    ),
    thread: fc.anything(),
    number: fc.anything(),
    text: fc.anything(),
    begun: fc.anything(),
    inspection: fc.anything(),
  });
  fc.assert(
    fc.property(fc.oneof(fc.anything(), nearest), (message) => {
      assert.equal(typeof isFromRunner(message), "boolean");
    }),
    { numRuns: 3000 },
  );
});
