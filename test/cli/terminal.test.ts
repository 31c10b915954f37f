import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runProgram, type Finished } from "../blackbox/command.ts";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { environment, findProgram, openTarget } from "../blackbox/target.ts";
import { openSession, type Session } from "./session.ts";

const target = openTarget();
const python = findProgram("python3");

/** Why there is no pseudo terminal here; false where there is. */
function whyNone(): string | false {
  if (python === null) return "no python3 on this machine";
  const { status } = spawnSync(python, ["-c", "import pty"]);
  return status === 0 ? false : "python3 has no pty module on this machine";
}

describe("on a terminal", { skip: target.skip ?? whyNone() }, () => {
  let session: Session;
  before(async () => {
    session = await openSession({ "echo.ts": "export default async () => 1;\n" });
  });
  after(() => session[Symbol.asyncDispose]());

  /** Each pair is a text to wait for, and what is typed then; null closes the pseudo terminal. */
  function type(
    args: readonly string[],
    dialogue: readonly (readonly [string, string | null])[],
    env: Record<string, string> = {},
  ): Promise<Finished> {
    const script = fileURLToPath(new URL("terminal.py", import.meta.url));
    return runProgram(
      python as string,
      [script, JSON.stringify(dialogue), ...target.command, ...args],
      {
        cwd: session.folder,
        env: environment({ XDG_CONFIG_HOME: session.folder, TERM: "xterm", ...env }),
      },
    );
  }

  test("login asks for the name, and for the password without showing it", async () => {
    const finished = await type(
      ["login", session.service.url],
      [
        ["User name: ", "admin\r"],
        ["Password: ", `${ADMIN_PASSWORD}x\u007f\r`],
      ],
    );
    assert.equal(finished.code, 0, finished.stdout);
    assert.match(finished.stdout, /Logged in to .* as "admin"/);
    assert.ok(!finished.stdout.includes(ADMIN_PASSWORD), "the password is not shown");
    assert.ok(!finished.stdout.includes("battery"), "nor a part of it");
  });

  test("Ctrl-C at the password ends the command", async () => {
    const finished = await type(
      ["login", session.service.url, "--user", "admin"],
      [["Password: ", "\u0003"]],
    );
    assert.equal(finished.code, 130);
    assert.match(finished.stdout, /^Stopped at a question\r?$/m);
    const ended = await type(
      ["login", session.service.url, "--user", "admin"],
      [["Password: ", "\u0004"]],
    );
    assert.equal(ended.code, 1, "Ctrl-D");
  });

  test("a webhook's key is asked for after the password", async () => {
    await session.service.createWebhook("typed", "echo", { key: "the-first-key-of-it" });
    const env = { FLOWHOOK_URL: session.service.url, FLOWHOOK_TOKEN: session.service.token() };
    const finished = await type(
      ["webhook", "key", "typed", "--set", "-"],
      [
        ["Your password: ", `${ADMIN_PASSWORD}\r`],
        ['Key of "typed": ', "the-second-key-of-it\r"],
      ],
      env,
    );
    assert.equal(finished.code, 0, finished.stdout);
    assert.doesNotMatch(finished.stdout, /battery|second-key/);
    const answer = await fetch(`${session.service.url}/api/latest/webhook/typed/call`, {
      headers: { authorization: "Bearer the-second-key-of-it" },
    });
    assert.equal(answer.status, 200);
  });

  test("a password is asked for after members that were typed", async () => {
    await session.service.createWebhook("members", "echo", {});
    const env = { FLOWHOOK_URL: session.service.url, FLOWHOOK_TOKEN: session.service.token() };
    const finished = await type(
      ["webhook", "set", "members", "-"],
      [
        ["", "require_login: true\r\u0004"],
        ["Your password: ", `${ADMIN_PASSWORD}\r`],
      ],
      env,
    );
    assert.equal(finished.code, 0, finished.stdout);
    const read = await session.service.api("GET", "/webhook/members");
    assert.equal((read.body as { require_login: boolean }).require_login, true, finished.stdout);
  });

  test("serve greets with its URL and the password, and stops with Ctrl-C", async () => {
    const env = { FLOWHOOK_LISTEN_PORT: "0", NO_COLOR: "1" };
    const finished = await type(["serve"], [["Ctrl-C", "\u0003"]], env);
    assert.equal(finished.code, 0, finished.stdout);
    assert.match(finished.stdout, /Open +http:\/\/127\.0\.0\.1:\d+\//);
    assert.match(finished.stdout, /Log in +as "admin" with \w{20} \(shown once\)/);
    assert.match(finished.stdout, /Flows +0 ready in /);
    assert.doesNotMatch(finished.stdout, /\u001b\[\d+m/, "NO_COLOR");
  });

  test("serve stops in order where its terminal is closed", async () => {
    const finished = await type(["serve"], [["Listening on", null]], { FLOWHOOK_LISTEN_PORT: "0" });
    assert.equal(finished.code, 0, finished.stdout);
  });
});
