import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { findPage } from "../../src/assets/manual.ts";
import { openTarget } from "../blackbox/target.ts";
import { all, openSession, PASSWORD_LINE, type Session } from "./session.ts";

/** The recipes for senders that sign, those with a count and with a program, typed as they stand on the page. */

const RECIPES = [
  "GitHub",
  "Stripe",
  "A slash command of Slack",
  "A sender that asks with GET first",
  "Any other signature",
  "A count, or how far a job got",
];

const sections = findPage("recipes")!.text.split(/^## /m);

/** The files that a recipe writes, by the name that their first line has. */
function filesOf(title: string, language: "ts" | "yaml"): Record<string, string> {
  const text = sections.find((section) => section.startsWith(`${title}\n`)) ?? "";
  const blocks = text.matchAll(/^```(\w+)\n(?:\/\/|#) (?:plugins\/)?(\S+)\n([^]*?)^```/gm);
  const files = [...blocks].filter(([, of]) => of === language);
  return Object.fromEntries(files.map(([, , name, code]) => [name!, code!]));
}

function commandsOf(title: string): string[][] {
  const text = sections.find((section) => section.startsWith(`${title}\n`)) ?? "";
  const [, lines = ""] = /^```sh\n([^]*?)^```/m.exec(text) ?? [];
  return [...lines.matchAll(/^flowhook (.*)$/gm)].map(([, words]) => words!.split(" "));
}

describe("recipes", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  let queue: string;
  before(async () => {
    queue = await realpath(await mkdtemp(join(tmpdir(), "flowhook-queue-")));
    const { "deploy.ts": program = "" } = filesOf("Start a program", "ts");
    const flows = [
      ...RECIPES.map((of) => filesOf(of, "ts")),
      { "program.ts": program.replace("/var/spool/deploy", queue) },
    ];
    const config = { ALLOW_READ: [queue], ALLOW_WRITE: [queue] };
    session = await openSession(Object.assign({}, ...flows), config);
    for (const of of RECIPES)
      for (const [name, text] of Object.entries(filesOf(of, "yaml")))
        await session.write(name, text);
  });
  after(async () => {
    await session[Symbol.asyncDispose]();
    await rm(queue, { recursive: true, force: true });
  });

  async function type(args: readonly string[], input: string): Promise<string> {
    const finished = await session.run(args, { input });
    assert.equal(finished.code, 0, all(finished));
    return finished.stdout;
  }

  /** The commands of a recipe, each with what its reader is asked for. */
  async function follow(title: string, secret: string): Promise<string> {
    const printed: string[] = [];
    for (const args of commandsOf(title)) {
      const isGuarded = args[1] === "set" && args[0] === "webhook";
      const answered = isGuarded ? [...args, "--password-stdin"] : args;
      printed.push(await type(answered, isGuarded ? PASSWORD_LINE : secret));
    }
    return printed.join("");
  }

  function sign(webhook: string, body: string, secret: string, ...more: string[]): Promise<string> {
    return type(["call", webhook, "--sign", "--secret-stdin", "-d", body, ...more], secret);
  }

  async function ended(id: string): Promise<unknown> {
    const { body } = await session.service.api("GET", `/execution/${id.trim()}/wait`);
    return (body as { output_value: unknown }).output_value;
  }

  async function refusedWithout(webhook: string): Promise<void> {
    const finished = await session.run(["call", webhook, "-d", "{}"]);
    assert.match(finished.stderr, /401/, all(finished));
  }

  test("GitHub: a push", async () => {
    const printed = await follow("GitHub", "");
    const [, secret] = /: (\S{43}) {2}\(shown this once\)/.exec(printed) ?? [];
    const event = ["-H", "X-GitHub-Event: push"];
    const id = await sign("github", '{"ref": "refs/heads/main"}', secret!, ...event);
    assert.deepEqual(await ended(id), { ref: "refs/heads/main" });
    await refusedWithout("github");
  });

  test("Stripe: an event that comes twice starts one execution", async () => {
    const secret = "whsec_a-secret-of-a-sender";
    await follow("Stripe", secret);
    const event = {
      id: "evt_1",
      type: "checkout.session.completed",
      data: { object: { id: "cs_7" } },
    };
    const id = await sign("stripe", JSON.stringify(event), secret);
    assert.deepEqual(await ended(id), { paid: "cs_7" });
    assert.equal(await sign("stripe", JSON.stringify(event), secret), id);
    await refusedWithout("stripe");
  });

  test("Slack: a command is answered in one request", async () => {
    const secret = "8f742231b10e8888abcd99yyyzzz85a5";
    await follow("A slash command of Slack", secret);
    const form = ["-H", "Content-Type: application/x-www-form-urlencoded"];
    const answer = await sign("deploy", "user_name=ada&text=shop+now", secret, ...form);
    assert.deepEqual(JSON.parse(answer), {
      response_type: "in_channel",
      text: "ada deploys shop now",
    });
    await refusedWithout("deploy");
  });

  test("Meta: its challenge is answered, and nothing that is not signed", async () => {
    const secret = "an-app-secret-of-meta";
    await follow("A sender that asks with GET first", secret);
    const url = `${session.service.url}/api/latest/webhook/meta/call`;
    const asked = await fetch(`${url}?hub.mode=subscribe&hub.challenge=1158201444`);
    assert.deepEqual([asked.status, await asked.text()], [200, "1158201444"]);
    const sent = await session.run(["call", "meta", "-d", "{}"]);
    assert.match(all(sent), /401/);
    const event = await sign("meta", '{"entry": []}', secret);
    assert.deepEqual(JSON.parse(event), { received: { entry: [] } });
  });

  test("a scheme of its own", async () => {
    const secret = "a-secret-of-ours";
    await type(["secret", "set", "SIGNING_SECRET"], secret);
    await type(["webhook", "create", "own", "--flow", "paid"], "");
    await type(["webhook", "set", "own", "signed.yaml", "--password-stdin"], PASSWORD_LINE);
    assert.deepEqual(JSON.parse(await sign("own", '{"type": "ping"}', secret)), {
      ignored: "ping",
    });
    await refusedWithout("own");
  });

  test("a program: what it is started with can be read by its group", async () => {
    const input = JSON.stringify({ json: { version: "1.2" } });
    await type(["flow", "run", "program", "--input", input], "");
    const [job = "", ...others] = await readdir(queue);
    assert.match(job, /\.json$/);
    assert.deepEqual(others, []);
    assert.equal((await stat(join(queue, job))).mode & 0o777, 0o640);
    assert.deepEqual(JSON.parse(await readFile(join(queue, job), "utf8")), { version: "1.2" });
  });

  test("a count that many calls at once raise", async () => {
    const printed = await follow("A count, or how far a job got", "");
    const [key] = /fhk_[\w-]{43}/.exec(printed)!;
    const url = `${session.service.url}/api/latest/webhook/tickets/call`;
    const count = async () => {
      const answer = await fetch(url, {
        method: "POST",
        headers: { authorization: `Bearer ${key}` },
      });
      return ((await answer.json()) as { ticket: number }).ticket;
    };
    const tickets = await Promise.all(Array.from({ length: 30 }, count));
    const expected = Array.from({ length: 30 }, (_, at) => at + 1);
    assert.deepEqual(
      tickets.toSorted((one, other) => one - other),
      expected,
    );
  });
});
