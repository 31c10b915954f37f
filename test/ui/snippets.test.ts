import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { SIGNED_SNIPPETS, SNIPPETS } from "../../src/browser/snippets.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { runProgram } from "../blackbox/command.ts";
import { environment, findProgram, openTarget } from "../blackbox/target.ts";

const KEY = 'it\'s a "key" with \\'.replaceAll(" ", "_");

/** Whatever a language writes in another way. */
const BODY = {
  hello: "world",
  quoted: `it's a "lamp" \\ $(id) \n ü🙂`,
  on: true,
  off: false,
  no: null,
};

/** What runs a snippet, and the name of its file. */
const PROGRAMS: Readonly<Record<string, readonly [program: string, ...before: string[]]>> = {
  curl: ["sh", "call.sh"],
  JavaScript: ["node", "call.mjs"],
  Python: ["python3", "call.py"],
  PowerShell: ["pwsh", "call.ps1"],
  Java: ["java", "Call.java"],
  Go: ["go", "run", "call.go"],
  "C#": ["dotnet", "run", "call.cs"],
};

/** Java reads its source in the encoding of the locale. */
const env = { ...process.env, LC_ALL: "C.UTF-8" };

describe("the snippets of a webhook", () => {
  let service: Service;
  let folder: string;
  before(async () => {
    service = await startService({ flows: ["echo"] });
    folder = await mkdtemp(join(tmpdir(), "snippets-"));
    await service.createWebhook("a b", "echo", { key: KEY });
  });
  after(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [name, write] of SNIPPETS) {
    const [program = "", ...given] = PROGRAMS[name] ?? [];
    // Few machines have them all.
    if (findProgram(program) === null) continue;
    test(`call it with its key, in ${name}`, async () => {
      const url = `${service.url}/api/latest/webhook/a%20b/call`;
      const file = given.at(-1) ?? "";
      const options = { url, key: KEY, require_login: false, body: BODY };
      await writeFile(join(folder, file), write(options));
      const { stdout } = await promisify(execFile)(program, given, { cwd: folder, env });
      assert.match(stdout, /hello\W+world/);
      const { body } = await service.api("GET", "/execution?limit=1&webhook=a%20b");
      const [newest] = (body as { items: { id: string }[] }).items;
      const execution = (await service.api("GET", `/execution/${newest?.id}`)).body;
      assert.deepEqual((execution as { input_value: { json: unknown } }).input_value.json, BODY);
      assert.doesNotMatch(stdout, /401|Unauthorized/);
    });
  }

  test("one whose calls are signed, by the command that signs", async () => {
    const secret = "a secret of the sender";
    await service.api("POST", "/secret", { name: "SENDER", value: secret });
    const signature = { scheme: "github", secrets: ["SENDER"] };
    await service.createWebhook("it's signed", "echo", { key: KEY, signature });
    const url = `${service.url}/api/latest/webhook/it's%20signed/call`;
    const options = { url, key: KEY, require_login: false, body: BODY };
    const [, write] = SIGNED_SNIPPETS[0] ?? assert.fail("there is none");
    const [login = "", ...call] = write(options).split("\n");
    assert.equal(login, `flowhook login '${service.url}'`);
    // Without a terminal the secret comes otherwise, and so does the login.
    const line = `${call.join("\n")} --secret-stdin`;
    const path = [dirname(openTarget().command[0]), process.env["PATH"]].join(delimiter);
    const { code, stdout, stderr } = await runProgram("sh", ["-c", line], {
      cwd: folder,
      env: { ...environment({ FLOWHOOK_TOKEN: service.token() }), PATH: path },
      input: secret,
    });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /hello\W+world/);
  });
});
