import assert from "node:assert/strict";
import type { Answer } from "./client.ts";
import {
  ABSENT,
  type BodyExpectation,
  type ExecutionRecord,
  type Expectation,
  type InputExpectation,
} from "./scenario.ts";

/** Compares what came over the wire with what a row expects. */
export function assertAnswer(answer: Answer, legs: readonly Answer[], expect: Expectation): void {
  const statuses = [expect.status].flat();
  assert.ok(
    statuses.includes(answer.status),
    `Status ${answer.status}, expected ${statuses.join(" or ")}: ${answer.text.slice(0, 500)}`,
  );
  if (expect.chain !== undefined) {
    assert.deepEqual(
      legs.map((leg) => leg.status),
      expect.chain,
      "statuses of the chain",
    );
  }
  for (const [name, value] of Object.entries(expect.headers ?? {})) {
    assertHeader(name, answer.headers[name], value);
  }
  if (expect.body !== undefined) assertBody(answer, expect.body);
}

function assertHeader(
  name: string,
  found: string | undefined,
  value: string | RegExp | null,
): void {
  if (value === null) assert.equal(found, undefined, `header "${name}" must be absent`);
  else if (value instanceof RegExp) assert.match(found ?? "(absent)", value, `header "${name}"`);
  else assert.equal(found, value, `header "${name}"`);
}

function assertBody(answer: Answer, body: BodyExpectation): void {
  const { text } = answer;
  if (body.text !== undefined) assert.equal(text, body.text, "body");
  if (body.bytes !== undefined) assert.deepEqual([...answer.bytes], [...body.bytes], "body");
  if (body.json !== undefined) assert.deepEqual(JSON.parse(text), body.json, "body as JSON");
  if (body.problem !== undefined) assertProblem(answer, body.problem);
  for (const part of body.contains ?? []) {
    assert.ok(text.includes(part), `Body lacks "${part}": ${text.slice(0, 500)}`);
  }
  if (body.matches !== undefined) assert.match(text, body.matches, "body");
}

/** RFC 9457: the five members, with the status of the answer. */
export function assertProblem(answer: Answer, members: Readonly<Record<string, unknown>>): void {
  assert.match(answer.headers["content-type"] ?? "", /^application\/problem\+json/);
  const problem = JSON.parse(answer.text) as Record<string, unknown>;
  assert.equal(problem["status"], answer.status, "status of the problem");
  for (const name of ["type", "title", "detail", "instance"]) {
    assert.equal(typeof problem[name], "string", `problem member "${name}"`);
  }
  for (const [name, value] of Object.entries(members)) {
    if (value instanceof RegExp) assert.match(String(problem[name]), value, `problem "${name}"`);
    else assert.deepEqual(problem[name], value, `problem "${name}"`);
  }
}

/** Nothing that is forbidden stands in a status line, a header or a body. */
export function assertForbidden(legs: readonly Answer[], texts: readonly string[]): void {
  for (const text of texts) {
    for (const leg of legs) {
      const encoded = encodeURIComponent(text);
      assert.ok(!leg.head.includes(text), `"${text}" stands in the head:\n${leg.head}`);
      assert.ok(!leg.head.includes(encoded), `"${encoded}" stands in the head:\n${leg.head}`);
      assert.ok(
        !leg.text.includes(text),
        `"${text}" stands in the body: ${leg.text.slice(0, 500)}`,
      );
    }
  }
}

/** Compares the record's input_value with what the flow should have been given. */
export function assertInput(record: ExecutionRecord, expect: InputExpectation): void {
  const input = record["input_value"] as Record<string, unknown>;
  assert.equal(typeof input, "object", "input_value of the record");
  if (expect.method !== undefined) assert.equal(input["method"], expect.method);
  if (expect.path !== undefined) assert.equal(input["path"], expect.path, "path");
  if (expect.query !== undefined) assert.deepEqual(input["query"], { ...expect.query }, "query");
  if (expect.json === ABSENT) assert.ok(!("json" in input), "json must be absent");
  else if (expect.json !== undefined) assert.deepEqual(input["json"], expect.json, "json");
  assertAuth(input["auth"], expect.auth);
  assertInputHeaders(input["headers"] as Record<string, string>, expect.headers ?? {});
}

function assertAuth(auth: unknown, expect: InputExpectation["auth"]): void {
  if (expect === "absent") assert.equal(auth, undefined, "auth must be absent");
  else if (expect !== undefined) assertMembers(auth as Record<string, unknown>, expect, "auth");
}

function assertInputHeaders(
  headers: Readonly<Record<string, string>>,
  expect: Readonly<Record<string, string | null>>,
): void {
  for (const [name, value] of Object.entries(expect)) {
    if (value === null) assert.ok(!(name in headers), `input header "${name}" must be absent`);
    else assert.equal(headers[name], value, `input header "${name}"`);
  }
}

/** Every expected member is there and so; a pattern is matched. */
export function assertMembers(
  found: Readonly<Record<string, unknown>>,
  expect: Readonly<Record<string, unknown>>,
  what: string,
): void {
  for (const [name, value] of Object.entries(expect)) {
    const at = `${what} member "${name}" of ${JSON.stringify(found).slice(0, 600)}`;
    if (value instanceof RegExp) assert.match(String(found[name]), value, at);
    else assert.deepEqual(found[name], value, at);
  }
}
