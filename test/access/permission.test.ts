import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PERMISSIONS, type Grant } from "../../src/shared/contract/permission.ts";
import { covers, isAllowed } from "../../src/server/access/permission.ts";

const RESOURCES = [...new Set(PERMISSIONS.map((name) => `${name.split(".")[0]}.*`))];

const grant: fc.Arbitrary<Grant> = fc.record({
  permission: fc.constantFrom(...PERMISSIONS, ...RESOURCES, "*"),
  project_id: fc.constantFrom(null, "one", "two"),
});
const grants = fc.array(grant, { maxLength: 6 });
const act = fc.record({
  permission: fc.constantFrom(...PERMISSIONS),
  project_id: fc.constantFrom(undefined, "one", "two", "three"),
});

test("what covers a role allows everything that the role allows", () => {
  fc.assert(
    fc.property(grants, grants, act, (held, wanted, { permission, project_id }) => {
      if (!covers(held, wanted) || !isAllowed(wanted, permission, project_id)) return;
      assert.ok(isAllowed(held, permission, project_id));
    }),
    { numRuns: 2000 },
  );
});

/** Grants that allow the same or less, one for each. */
function narrow(held: readonly Grant[]): fc.Arbitrary<Grant[]> {
  const each = held.map(({ permission, project_id }) => {
    const prefix = permission.replace(/\*$/, "");
    const within = PERMISSIONS.filter((name) => name.startsWith(prefix));
    return fc.record({
      permission: fc.constantFrom(permission, ...(permission.endsWith("*") ? within : [])),
      project_id: project_id === null ? fc.constantFrom(null, "one") : fc.constant(project_id),
    });
  });
  return fc.tuple(...each);
}

test("a narrowed role is covered, and allows nothing more", () => {
  const both = grants.chain((held) => fc.tuple(fc.constant(held), narrow(held)));
  fc.assert(
    fc.property(both, act, ([held, narrowed], { permission, project_id }) => {
      assert.ok(covers(held, narrowed));
      if (isAllowed(narrowed, permission, project_id))
        assert.ok(isAllowed(held, permission, project_id));
    }),
    { numRuns: 2000 },
  );
});

test("everybody covers what they hold, and less; nobody covers more than everything", () => {
  fc.assert(
    fc.property(grants, fc.nat(), (held, at) => {
      assert.ok(covers(held, held));
      assert.ok(covers(held, held.slice(0, at)));
      assert.ok(covers([{ permission: "*", project_id: null }], held));
    }),
  );
});

test("covering is transitive", () => {
  const chain = grants.chain((one) =>
    narrow(one).chain((two) => fc.tuple(fc.constant(one), narrow(two))),
  );
  fc.assert(fc.property(chain, ([one, three]) => assert.ok(covers(one, three))));
});

test("every permission of a resource is not the resource: later permissions would be given too", () => {
  const all = PERMISSIONS.map((permission) => ({ permission, project_id: null }));
  assert.ok(!covers(all, [{ permission: "*", project_id: null }]));
  assert.ok(!covers(all, [{ permission: "webhook.*", project_id: null }]));
});

test("a grant for one project reaches nothing that belongs to no project", () => {
  const held = [{ permission: "*", project_id: "one" }];
  const reached = PERMISSIONS.filter((permission) => isAllowed(held, permission));
  assert.deepEqual(
    reached.filter((name) => !/^(webhook|execution|project)\./.test(name)),
    ["flow.read", "bundle.read"],
  );
  assert.ok(isAllowed(held, "webhook.write", "one"));
  assert.ok(!isAllowed(held, "webhook.write", "two"));
});
