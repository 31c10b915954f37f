import assert from "node:assert/strict";
import { after, test } from "node:test";
import { RULES } from "./coverage.ts";
import { EXCEPTIONS, exceptionSummary } from "./exceptions.ts";
import { GROUPS } from "./groups.ts";
import { openTarget } from "./target.ts";

const rows = GROUPS.flatMap((group) => group.rows.map((row) => ({ group: group.name, ...row })));

test("every rule of the specification and the contract has a scenario", () => {
  const covered = new Set<string>(rows.flatMap((row) => row.covers));
  const missing = Object.entries(RULES).filter(([id]) => !covered.has(id));
  assert.deepEqual(missing, [], "rules without a scenario");
});

test("every scenario names rules that exist", () => {
  for (const row of rows) {
    assert.ok(row.covers.length > 0, `"${row.name}" in "${row.group}" covers nothing`);
    for (const id of row.covers) assert.ok(id in RULES, `"${row.name}" names unknown "${id}"`);
  }
});

test("every scenario has a name of its own", () => {
  const names = rows.map((row) => `${row.group}: ${row.name}`);
  assert.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  );
});

test("every exception names a scenario that exists", () => {
  for (const { group, row } of EXCEPTIONS) {
    assert.ok(
      rows.some((found) => found.group === group && found.name === row),
      `${group}: ${row}`,
    );
  }
});

after(() => {
  const covered = Object.keys(RULES).length;
  console.log(
    `${rows.length} scenarios cover ${covered} rules; ${exceptionSummary(openTarget().name)}`,
  );
});
