import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { ADMIN_PASSWORD } from "../blackbox/service.ts";
import { openTarget } from "../blackbox/target.ts";
import { all, openSession, PASSWORD_LINE, type RunOptions, type Session } from "./session.ts";

const NOTHING = { FLOWHOOK_URL: "", FLOWHOOK_TOKEN: "" };

describe("login", { skip: openTarget().skip ?? false }, () => {
  let session: Session;
  let file: string;
  before(async () => {
    session = await openSession({ "echo.ts": "export default async () => 1;\n" });
    file = join(session.folder, "flowhook/logins.json");
  });
  after(() => session[Symbol.asyncDispose]());

  function run(args: readonly string[], { input = "", env = {} }: RunOptions = {}) {
    return session.run(args, { input, env: { ...NOTHING, ...env } });
  }

  async function login(): Promise<void> {
    const args = ["login", session.service.url, "--user", "admin", "--password-stdin"];
    const finished = await run(args, { input: PASSWORD_LINE });
    assert.equal(finished.code, 0, all(finished));
    assert.match(finished.stdout, /^Logged in to http:.* as "admin" until 2/);
  }

  describe("with a kept login", () => {
    beforeEach(login);

    test("the token is in a file of the owner's, and nowhere on the screen", async () => {
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.equal(statSync(join(session.folder, "flowhook")).mode & 0o777, 0o700);
      const text = readFileSync(file, "utf8");
      assert.match(text, /fht_/);
      assert.ok(!text.includes(ADMIN_PASSWORD));
    });

    test("the other commands speak to that service with it", async () => {
      const finished = await run(["flow", "list"]);
      assert.equal(finished.code, 0, all(finished));
      assert.match(finished.stdout, /^echo +ready/m);
    });

    test("a call says which service took it, where nobody named one", async () => {
      const finished = await run(["call", "none"]);
      assert.equal(finished.stderr.split("\n")[0], `Service: ${session.service.url}`);
      const named = await run(["call", "none", "--url", session.service.url]);
      assert.doesNotMatch(named.stderr, /Service: /);
    });

    test("FLOWHOOK_TOKEN goes before it", async () => {
      const finished = await run(["flow", "list"], { env: { FLOWHOOK_TOKEN: "fht_wrong" } });
      assert.equal(finished.code, 1);
      assert.match(finished.stderr, /^The login has ended at .*flowhook login http:.*\n$/);
    });

    test("another service does not get the token", async () => {
      const seen: (string | undefined)[] = [];
      const server = createServer((request, response) => {
        seen.push(request.headers["x-service-token"] as string | undefined);
        response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not here</h1>");
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      try {
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const finished = await run(["flow", "list", "--url", url]);
        assert.equal(finished.code, 1);
        assert.match(finished.stderr, /^Found 404 Not Found at http:.*no answer of Flowhook/);
        assert.deepEqual(seen, [undefined]);
      } finally {
        server.close();
      }
    });

    test("logout ends the token at the service, and forgets it", async () => {
      const { logins } = JSON.parse(readFileSync(file, "utf8")) as {
        logins: Record<string, { token: string }>;
      };
      const { token = "" } = logins[session.service.url] ?? {};
      const finished = await run(["logout"]);
      assert.deepEqual([finished.code, finished.stderr], [0, ""]);
      assert.ok(!readFileSync(file, "utf8").includes(token));
      const answer = await fetch(`${session.service.url}/api/latest/auth/me`, {
        headers: { "x-service-token": token },
      });
      assert.equal(answer.status, 401);
      const again = await run(["logout", session.service.url]);
      assert.equal(again.code, 1);
      assert.match(again.stderr, /^There is no kept login to /);
    });
  });

  test("a wrong password keeps nothing", async () => {
    await run(["logout", session.service.url]);
    const args = ["login", "--user", "admin", "--password-stdin", "--url", session.service.url];
    const finished = await run(args, { input: "wrong\n" });
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /The user name or the password is wrong\n$/);
    assert.ok(!existsSync(file) || !readFileSync(file, "utf8").includes("fht_"));
  });

  test("without a terminal, the options are needed", async () => {
    const user = await run(["login", session.service.url]);
    assert.equal(user.code, 2);
    assert.match(user.stderr, /use --user/);
    const password = await run(["login", session.service.url, "--user", "admin"]);
    assert.equal(password.code, 2);
    assert.match(password.stderr, /use --password-stdin/);
  });

  test("without a login, commands say how to get one", async () => {
    const finished = await run(["webhook", "list", "--url", session.service.url]);
    assert.equal(finished.code, 1);
    assert.match(finished.stderr, /^Not logged in to .*flowhook login http:.*\n$/);
  });

  test("no service: names the URL, and how to start one", async () => {
    for (const args of [
      ["flow", "list"],
      ["execution", "list"],
      ["webhook", "export"],
    ]) {
      const finished = await run([...args, "--url", "http://127.0.0.1:9"]);
      assert.equal(finished.code, 1);
      assert.match(finished.stderr, /^Cannot reach http:\/\/127\.0\.0\.1:9: .*flowhook serve.*\n$/);
    }
  });

  test("no URL: a usage error", async () => {
    const finished = await run(["flow", "list", "--url", "localhost"]);
    assert.equal(finished.code, 2);
    assert.match(finished.stderr, /^Found "localhost", expected the URL of a service/);
  });

  test("a user and a password in the URL are refused, and not printed", async () => {
    for (const [url, shown] of [
      ["http://ada:pass%20word@localhost:8080/", "http://...@localhost:8080/"],
      ["http://:pass%20word@localhost:8080/", "http://...@localhost:8080/"],
      ["http://ada:pass/word@localhost:8080/", "http://...@localhost:8080/"],
      ["http://ada:12/pass/word@localhost:8080/", "http://...@localhost:8080/"],
      ["http://ada:12?pass/word@localhost:8080/", "http://...@localhost:8080/"],
      ["http://ada:12#pass/word@localhost:8080/", "http://...@localhost:8080/"],
      ["ada:pass@word@localhost", "...@localhost"],
    ] as const)
      for (const [args, env] of [
        [["flow", "list", "--url", url], {}],
        [["login", url], {}],
        [["flow", "list"], { FLOWHOOK_URL: url }],
      ] as const) {
        const finished = await run(args, { env });
        assert.equal(finished.code, 2, all(finished));
        assert.ok(finished.stderr.includes(`"${shown}", expected the URL of a service`));
        assert.doesNotMatch(all(finished), /ada|pass(%20|\/|@)word/);
      }
    const { stderr } = await run(["flow", "list", "--url", "http://ada@localhost/"]);
    assert.match(
      stderr,
      /^Found a user or a password in .* log in with: flowhook login \(an @ of its path is written %40\)\n$/,
    );
  });

  test("without any, the service that the configuration of the folder describes", async () => {
    const env = { FLOWHOOK_LISTEN_PORT: String(session.service.origin.port) };
    await run(["logout", session.service.url]);
    const finished = await run(["flow", "list"], {
      env: { ...env, FLOWHOOK_TOKEN: session.service.token() },
    });
    assert.equal(finished.code, 0, all(finished));
  });

  describe("L9: a service that only a file of the folder names", () => {
    const strange = [
      "192.0.2.1",
      "127.0.0.1@192.0.2.1",
      "localhost@flowhook.invalid",
      "localhost.flowhook.invalid",
      "127.0.0.1.flowhook.invalid",
      "127.flowhook.invalid",
      "::ffff:192.0.2.1",
    ];
    const rows: Record<string, readonly string[]> = {
      list: ["flow", "list"],
      call: ["call", "orders", "--key", "a-key-of-my-own"],
      login: ["login", "--user", "admin", "--password-stdin"],
      key: ["webhook", "key", "orders", "--password-stdin", "--generate"],
    };
    async function assertUnsent(host: string, args: readonly string[], token: string) {
      await run(["logout", session.service.url]);
      await session.write("flowhook.yaml", `LISTEN_HOST: "${host}"\n`);
      const env = { FLOWHOOK_TOKEN: token };
      const finished = await run(args, { env, input: PASSWORD_LINE });
      await rm(join(session.folder, "flowhook.yaml"));
      assert.deepEqual([finished.code, finished.stdout], [2, ""], all(finished));
      const what = token === "" ? "Nothing is" : "FLOWHOOK_TOKEN is not";
      const says = new RegExp(`^${what} sent to http:.*--url or FLOWHOOK_URL\\n$`);
      assert.match(finished.stderr, says);
      assert.doesNotMatch(all(finished), /fht_secret/);
    }

    for (const host of strange)
      test(`L9: ${host} does not get FLOWHOOK_TOKEN`, () =>
        assertUnsent(host, ["flow", "list"], "fht_secret"));

    for (const [name, args] of Object.entries(rows))
      test(`L9: ${name} sends nothing there, with FLOWHOOK_TOKEN and without`, async () => {
        await assertUnsent("192.0.2.1", args, "fht_secret");
        await assertUnsent("192.0.2.1", args, "");
      });

    test("L9: one that is named, or where somebody has logged in, gets it", async () => {
      await login();
      await session.write("flowhook.yaml", 'LISTEN_HOST: "192.0.2.1"\n');
      const env = { FLOWHOOK_TOKEN: session.service.token() };
      assert.equal((await run(["flow", "list"], { env })).code, 0, "the service of the last login");
      await run(["logout"]);
      const named = await run(["flow", "list"], {
        env: { ...env, FLOWHOOK_URL: session.service.url },
      });
      assert.equal(named.code, 0, all(named));
      const option = await run(["flow", "list", "--url", session.service.url], { env });
      assert.equal(option.code, 0, all(option));
      await rm(join(session.folder, "flowhook.yaml"));
    });

    for (const host of ["localhost", "127.0.0.1", "0.0.0.0", "127.1"])
      test(`L9: ${host} is this machine`, async () => {
        const { port } = session.service.origin;
        await session.write("flowhook.yaml", `LISTEN_HOST: "${host}"\nLISTEN_PORT: ${port}\n`);
        const finished = await run(["flow", "list"], {
          env: { FLOWHOOK_TOKEN: session.service.token() },
        });
        await rm(join(session.folder, "flowhook.yaml"));
        assert.equal(finished.code, 0, all(finished));
      });
  });

  test("call: the login token does not follow a redirect to another origin", async () => {
    const seen: Record<string, unknown>[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers);
      const here = request.url?.startsWith("/api") === true;
      if (here) response.writeHead(302, { location: `http://localhost:${port}/other` }).end();
      else response.end("there");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    try {
      const finished = await run(["call", "orders", "--key", "a-key-of-my-own"], {
        env: { FLOWHOOK_URL: `http://127.0.0.1:${port}`, FLOWHOOK_TOKEN: "fht_secret" },
      });
      assert.equal(finished.code, 0, all(finished));
      const [first, second] = seen;
      assert.equal(first?.["x-service-token"], "fht_secret");
      assert.equal(first["authorization"], "Bearer a-key-of-my-own");
      assert.equal(second?.["x-service-token"], undefined);
      assert.equal(second?.["authorization"], undefined);
    } finally {
      server.close();
    }
  });
});
