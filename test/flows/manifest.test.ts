import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { defineFlow, v } from "../../src/shared/author.ts";
import { toManifest } from "../../src/shared/manifest.ts";

const NOTHING = { net: false, read: [], write: [], secrets: [] };
const run = () => null;

suite("manifest", () => {
  test("reads the three forms", () => {
    const defined = defineFlow({
      description: "Greets",
      permissions: { net: true, secrets: ["CRM_TOKEN"] },
      timeout_sec: 30,
      memory_mb: 64,
      isolation: "execution",
      input: v.object({}),
      run,
    });
    assert.deepEqual(toManifest(defined), {
      form: "defined",
      description: "Greets",
      permissions: { ...NOTHING, net: true, secrets: ["CRM_TOKEN"] },
      timeout_sec: 30,
      memory_mb: 64,
      isolation: "execution",
      has_input_schema: true,
    });
    const bare = { description: null, permissions: NOTHING, timeout_sec: null, memory_mb: null };
    const rest = { ...bare, isolation: "flow", has_input_schema: false };
    assert.deepEqual(
      toManifest(async () => {}),
      { form: "function", ...rest },
    );
    assert.deepEqual(toManifest({ fetch: run }), { form: "fetch", ...rest });
  });

  test("reads what a handler declares and passes over the rest of an application", () => {
    class App {
      routes = [];
      timeout_sec = 5;
      fetch() {}
    }
    assert.equal(toManifest(new App()).timeout_sec, 5);
    const typed = { fetch: run, permissions: { net: "yes" } };
    assert.throws(() => toManifest(typed), /Member 'permissions.net' of the flow is 'yes'/);
    const checked = { fetch: run, input: v.object({}) };
    assert.throws(() => toManifest(checked), /^Error: No 'input' is checked beside 'fetch': check/);
    assert.equal(toManifest({ fetch: run, input: [] }).form, "fetch", "of an application");
    const asking = { fetch: run, permissions: { secrets: ["TOKEN"] } };
    assert.throws(() => toManifest(asking), /^Error: A 'fetch' handler cannot read secrets: leave/);
  });

  const wrong: [string, unknown, RegExp][] = [
    ["a text", "hello", /The default export is 'hello', which is no flow; export defineFlow/],
    ["null", null, /The default export is null/],
    ["undefined", undefined, /The default export is missing/],
    ["a list", [run], /without 'fetch'/],
    ["a class", class Flow {}, /is a class, which cannot be called/],
    ["a generator", function* () {}, /^The default export is a generator, .*"async function"/],
    ["an async generator", async function* () {}, /^The default export is a generator/],
    ["a generator as run", define({ *run() {} }), /^Member 'run' of the flow is a generator/],
    [
      "an async generator as run",
      define({ async *run() {} }),
      /^Member 'run' of the flow is a generator, of which nothing would run: write "async run" without "\*"$/,
    ],
    ["an object that was not defined", { run }, /wrap it in defineFlow/],
    [
      "a handler",
      { handler() {} },
      /^The default export is an object without 'fetch' and with 'handler'; export defineFlow/,
    ],
    [
      "a handler that is defined",
      define({ handler: run }),
      /^The flow has no 'run', which every flow needs: unknown member 'handler', did you mean 'run'\?$/,
    ],
    [
      "a fetch handler that is defined",
      define({ fetch: run, permissions: { net: true } }),
      /^defineFlow takes 'run': export an object with 'fetch' as it is, without defineFlow$/,
    ],
    ["no run", define({}), /^The flow has no 'run', which every flow needs$/],
    [
      "a misspelt run",
      define({ rum: run }),
      /^The flow has no 'run', which every flow needs: unknown member 'rum', did you mean 'run'\?$/,
    ],
    [
      "an isolation that there is not",
      define({ run, isolation: "process" }),
      /Member 'isolation' of the flow is 'process'; give 'flow' or 'execution'/,
    ],
    [
      "a misspelt member",
      define({ run, timeout_secs: 3 }),
      /Unknown member 'timeout_secs' of the flow: did you mean 'timeout_sec'\?/,
    ],
    [
      "an unknown member",
      define({ run, zzzzzzzzz: 3 }),
      /Unknown member 'zzzzzzzzz'.*known are description/,
    ],
    [
      "a misspelt permission",
      define({ run, permissions: { network: true } }),
      /Unknown permission 'network' of the flow/,
    ],
    [
      "another misspelt permission",
      define({ run, permissions: { secret: [] } }),
      /did you mean 'secrets'\?/,
    ],
    [
      "permissions of a wrong type",
      define({ run, permissions: "net" }),
      /Member 'permissions' of the flow is 'net'; give an object/,
    ],
    [
      "a path that is none",
      define({ run, permissions: { read: [1] } }),
      /Member 'permissions.read.0' of the flow is 1/,
    ],
    [
      "an empty secret",
      define({ run, permissions: { secrets: [""] } }),
      /Member 'permissions.secrets.0' of the flow is ''/,
    ],
    [
      "a time-out of 0",
      define({ run, timeout_sec: 0 }),
      /Member 'timeout_sec' of the flow is 0; give a number above 0/,
    ],
    ["a time-out of more than an hour", define({ run, timeout_sec: 3601 }), /is 3601/],
    ["a time-out that is no number", define({ run, timeout_sec: NaN }), /is NaN/],
    ["a time-out in text", define({ run, timeout_sec: "30" }), /is '30'; give a number/],
    ["half a megabyte", define({ run, memory_mb: 16.5 }), /Member 'memory_mb' of the flow is 16.5/],
    [
      "too little memory",
      define({ run, memory_mb: 4 }),
      /is 4; give a whole number from 16 to 4096/,
    ],
    [
      "a schema that is none",
      define({ run, input: { type: "object" } }),
      /Member 'input' of the flow is of type object; give a Standard Schema/,
    ],
    ["a long text", "x".repeat(1000), /'x{40}…'/],
  ];
  for (const [name, value, message] of wrong) {
    test(`refuses ${name}`, () =>
      assert.throws(() => toManifest(value), { name: "Error", message }));
  }

  test("types the input by its schema", () => {
    defineFlow({
      input: v.object({ json: v.object({ name: v.string(), size: v.optional(v.number(), 1) }) }),
      run(flow) {
        const name: string = flow.input_value.json.name;
        const size: number = flow.input_value.json.size;
        const headers: Readonly<Record<string, string>> = flow.input_value.headers;
        // @ts-expect-error -- neither the schema nor the request has it
        const other: unknown = flow.input_value.other;
        return { name, size, headers, other };
      },
    });
    defineFlow({
      input: v.pipe(
        v.object({ json: v.object({ name: v.string() }) }),
        v.transform(({ json }) => json),
      ),
      run(flow) {
        const name: string = flow.input_value.name;
        // @ts-expect-error -- what a transformation makes stands alone
        const headers: unknown = flow.input_value.headers;
        return { name, headers };
      },
    });
    defineFlow({
      run(flow) {
        const path: string | null = flow.input_value.path;
        const json: unknown = flow.input_value.json;
        return { path, json };
      },
    });
    // @ts-expect-error -- an unknown member
    defineFlow({ run, timeout: 3 });
  });
});

/** A definition as plain JavaScript could give it. */
function define(definition: object): object {
  return Object.assign(definition, { [Symbol.for("flowhook.flow")]: true });
}
