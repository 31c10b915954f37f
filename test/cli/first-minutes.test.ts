import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runProgram } from "../blackbox/command.ts";
import { terminate } from "../blackbox/service.ts";
import { environment, findProgram, openTarget } from "../blackbox/target.ts";
import { openWorkplace, type Workplace } from "./dev-session.ts";

const target = openTarget();
const python = findProgram("python3");
const TERMINAL = fileURLToPath(new URL("terminal.py", import.meta.url));

function whyNone(): string | false {
  if (target.name === "deno") return "tests of flows need Node";
  if (python === null) return "no python3 on this machine";
  return spawnSync(python, ["-c", "import pty"]).status === 0 ? false : "no pty in python3";
}

describe("from an empty folder to a tested flow with a key", { skip: whyNone() }, () => {
  let place: Workplace;
  let service: ChildProcess | null = null;
  /** The commands as they were typed. */
  const typed: string[] = [];
  before(async () => {
    place = await openWorkplace();
  });
  after(async () => {
    if (service !== null) await terminate(service);
    await place[Symbol.asyncDispose]();
  });

  const env = () => environment({ XDG_CONFIG_HOME: `${place.folder}/.config`, TERM: "xterm" });

  /** One command on a pseudo terminal. @returns what it showed */
  async function type(line: string, ...dialogue: (readonly [string, string])[]): Promise<string> {
    typed.push(line);
    const words = [TERMINAL, JSON.stringify(dialogue), ...target.command, ...line.split(" ")];
    const finished = await runProgram(python as string, words, { cwd: place.folder, env: env() });
    assert.equal(finished.code, 0, `${line}:\n${finished.stdout}${finished.stderr}`);
    return finished.stdout;
  }

  /** @returns where it listens, and the administrator's password */
  async function serve(): Promise<{ url: string; password: string }> {
    typed.push("serve");
    const [program, ...leading] = target.command;
    const variables = { ...env(), FLOWHOOK_LISTEN_PORT: "0" };
    const child = spawn(program, [...leading, "serve"], { cwd: place.folder, env: variables });
    service = child;
    let shown = "";
    return new Promise((resolve, reject) => {
      child.once("exit", () => reject(new Error(`It ended:\n${shown}`)));
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (text: Buffer) => {
          shown += text.toString();
          const [, password] = /password: (\w{20})/.exec(shown) ?? [];
          const [, url] = /Listening on (http:\/\/[\d.:]+)/.exec(shown) ?? [];
          if (password !== undefined && url !== undefined) resolve({ url, password });
        });
    });
  }

  test("takes ten commands at most", async () => {
    await type("init");
    await type("flow new greet --test");
    assert.match(await type("flow test"), /greets by name[^]*pass 1/);
    const { url, password } = await serve();
    await type(`login ${url} --user admin`, ["Password: ", `${password}\r`]);
    const created = await type("webhook create greet --flow greet");
    const [key = ""] = /fhk_[\w-]{43}/.exec(created) ?? [];
    await type("webhook enable greet", ["Your password: ", `${password}\r`]);
    const answer = await type(`call greet --key ${key} --query name=Ada`);
    assert.match(answer, /"hello":\s*"Ada"/);
    const refused = await fetch(`${url}/api/latest/webhook/greet/call`);
    assert.equal(refused.status, 401);
    assert.ok(typed.length <= 10, typed.join("\n"));
  });
});
