import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openTarget } from "../blackbox/target.ts";
import { all, openSession, PASSWORD_LINE, type Session } from "./session.ts";

const FLOWS = {
  "told.ts": `import { defineFlow } from "flowhook";
export default defineFlow({
  permissions: { secrets: ["TOKEN"] },
  run: (flow) => flow.secret("TOKEN"),
});
`,
};

describe("secret", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  before(async () => {
    session = await openSession(FLOWS);
  });
  after(() => session[Symbol.asyncDispose]());

  async function succeed(args: readonly string[], input = ""): Promise<string> {
    const finished = await session.run(args, { input });
    assert.equal(finished.code, 0, all(finished));
    return finished.stdout;
  }

  async function refuse(args: readonly string[], input = ""): Promise<string> {
    const finished = await session.run(args, { input });
    assert.deepEqual([finished.code, finished.stdout], [1, ""], all(finished));
    return finished.stderr;
  }

  const told = async (): Promise<unknown> => JSON.parse(await succeed(["flow", "run", "told"]));

  test("list: says how to set the first one", async () => {
    assert.match(await succeed(["secret", "list"]), /^No secrets yet\. .*secret set NAME\n$/);
    assert.deepEqual(JSON.parse(await succeed(["secret", "list", "--json"])), []);
  });

  test("set: a flow gets it, and then its new value; it is shown nowhere", async () => {
    assert.equal(
      await succeed(["secret", "set", "TOKEN"], "first\n"),
      'Created the secret "TOKEN"\n',
    );
    assert.equal(await told(), "first");
    assert.equal(
      await succeed(["secret", "set", "TOKEN"], "of two\nlines\n"),
      'Replaced the secret "TOKEN"\n',
    );
    assert.equal(await told(), "of two\nlines");
    assert.match(await succeed(["secret", "list"]), /^NAME +CREATED +MODIFIED\nTOKEN +\d{4}/);
    assert.doesNotMatch(await succeed(["secret", "list", "--json"]), /first|of two/);
  });

  test("set: a value that comes slowly is waited for", async () => {
    // More than a pipe holds: where it was taken, it is being read.
    const [input, inputLater] = ["a".repeat(1_000_000), "a"];
    const finished = await session.run(["secret", "set", "LONG"], { input, inputLater });
    assert.equal(
      finished.stderr,
      "value: expected at most 65536 characters, found 1000001\n",
      all(finished),
    );
  });

  test("set: bytes that are no text are refused, and not set as another one", async () => {
    const bytes = Buffer.from("ff5f736563726574fe", "hex");
    const refused = await session.run(["secret", "set", "BYTES"], { input: bytes });
    assert.equal(refused.code, 2, all(refused));
    assert.match(
      refused.stderr,
      /^Found bytes that are not UTF-8 in standard input.*base64 or hex/,
    );
    const { body } = await session.service.api("GET", "/secret/BYTES");
    assert.equal((body as { status: number }).status, 404);
    const password = ["login", "--user", "admin", "--password-stdin"];
    const login = await session.run(password, { input: bytes });
    assert.equal(login.code, 2, all(login));
  });

  test("a byte order mark is no part of JSON and YAML, and is one of a secret", async () => {
    const marked = (text: string) => Buffer.from(`\ufeff${text}`);
    const set = await session.run(["setting", "set", "MARKED", "-"], { input: marked('{"a":1}') });
    assert.equal(set.code, 0, all(set));
    await succeed(["setting", "delete", "MARKED"]);
    const input = ["--input", "-"];
    const secret = await session.run(["secret", "set", "TOKEN"], { input: marked("value") });
    assert.equal(secret.code, 0, all(secret));
    const ran = await session.run(["flow", "run", "told", ...input], { input: marked("{}") });
    assert.equal(ran.stdout, '"\ufeffvalue"\n', all(ran));
    const yaml = { input: marked("default_mode: async\n") };
    const created = await session.run(["webhook", "create", "marked", "--flow", "told"]);
    assert.equal(created.code, 0, all(created));
    const changed = await session.run(["webhook", "set", "marked", "-"], yaml);
    assert.match(changed.stdout, /^default_mode: /, all(changed));
    const exported = await session.run(["webhook", "export", "marked"]);
    const dry = ["webhook", "import", "-", "--dry-run", "--conflicts", "replace"];
    const imported = await session.run(dry, { input: marked(exported.stdout) });
    assert.equal(imported.code, 0, all(imported));
  });

  test("set: without a value nothing is set", async () => {
    assert.match(await refuse(["secret", "set", "EMPTY"]), /^Expected the value on standard input/);
    assert.doesNotMatch(await succeed(["secret", "list"]), /EMPTY/);
  });

  test("set --generate: what is shown is what the flow gets", async () => {
    const shown = await succeed(["secret", "set", "TOKEN", "--generate"]);
    const [, value] = /^Replaced .*: ([\w-]{43}) {2}\(shown this once\)\n$/.exec(shown) ?? [];
    assert.ok(value, shown);
    assert.equal(await told(), value);
    const json = await succeed(["secret", "set", "TOKEN", "--generate", "--json"]);
    const secret = JSON.parse(json) as Record<string, unknown>;
    assert.deepEqual([secret["name"], secret["value"]], ["TOKEN", await told()]);
    const given = await succeed(["secret", "set", "TOKEN", "--json"], "of two\nlines");
    assert.deepEqual(Object.keys(JSON.parse(given) as object), [
      "name",
      "created_at",
      "modified_at",
    ]);
  });

  test("delete: not while a webhook checks signatures with it", async () => {
    await succeed(["secret", "set", "SIGNING"], "a-long-secret");
    await succeed(["webhook", "create", "signed", "--flow", "told"]);
    const scheme = ["--scheme", "github", "--secret", "SIGNING", "--password-stdin"];
    await succeed(["webhook", "signature", "signed", ...scheme], PASSWORD_LINE);
    assert.match(await refuse(["secret", "delete", "SIGNING"]), /signed/);
    assert.equal(await succeed(["secret", "delete", "TOKEN"]), 'Deleted the secret "TOKEN"\n');
    const without = await session.run(["flow", "run", "told", "--log"]);
    assert.equal(JSON.parse(without.stdout), null);
    assert.match(without.stderr, /There is no secret "TOKEN", so it is null\..* secret set TOKEN/);
    assert.match(await refuse(["secret", "delete", "TOKEN"]), /There is no secret "TOKEN"/);
  });

  test("setting: set, read and deleted; the same value that flows get", async () => {
    assert.match(
      await succeed(["setting", "list"]),
      /^No settings yet\. .*setting set NAME VALUE\n$/,
    );
    const set = ["setting", "set", "rates"];
    assert.equal(await succeed([...set, '{"EUR": 1}']), 'Created the setting "rates"\n');
    assert.equal(await succeed([...set, "-"], "[1, 2]"), 'Replaced the setting "rates"\n');
    assert.deepEqual(JSON.parse(await succeed(["setting", "get", "rates"])), [1, 2]);
    const text = JSON.parse(await succeed([...set, "EUR", "--text", "--json"])) as object;
    const shown = await succeed(["setting", "get", "rates", "--json"]);
    assert.deepEqual(JSON.parse(shown), text);
    assert.match(shown, /"value": "EUR"/);
    assert.match(
      await succeed(["setting", "list"]),
      /^NAME +MODIFIED +VALUE\nrates +\d.* +"EUR"\n$/,
    );
    const digits = '{"id": 12345678901234567890}';
    await succeed([...set, digits]);
    const exact = await succeed(["setting", "get", "rates"]);
    assert.equal(exact.replace(/\s+/g, ""), digits.replace(" ", ""), "no digit is lost");
    const wrong = await session.run([...set, "EUR"]);
    assert.equal(wrong.code, 2, all(wrong));
    assert.match(wrong.stderr, /^Expected JSON: .*--text\n$/);
    assert.equal(await succeed(["setting", "delete", "rates"]), 'Deleted the setting "rates"\n');
    assert.match(await refuse(["setting", "get", "rates"]), /^There is no setting "rates"/);
  });
});
