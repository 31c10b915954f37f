import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { runCommand } from "../blackbox/command.ts";
import { poll } from "../blackbox/scenario.ts";
import { launch, terminate } from "../blackbox/service.ts";
import { environment } from "../blackbox/target.ts";
import { childrenOf, faultsTarget } from "./test-service.ts";

/** The generated password of the first start: whatever fails, the last one that was shown logs in. */

const target = faultsTarget();

const PASSWORD = /password: (\w{20})\n/g;

/** Starts on one folder, with everything that they printed. */
interface Starts {
  readonly folder: string;
  configure(config: Readonly<Record<string, unknown>>): Promise<void>;
  /** A start that fails by itself; resolves with its exit code. */
  fail(): Promise<number | null>;
  /** A start that is killed as soon as something has happened. */
  killOnce(has: (seen: { pid: number; printed: string }) => boolean): Promise<void>;
  /** A right start: the password that was shown last logs in. */
  logIn(): Promise<void>;
  printed(): string;
}

async function openStarts(stack: AsyncDisposableStack): Promise<Starts> {
  const folder = await mkdtemp(join(tmpdir(), "flowhook-first-"));
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await mkdir(join(folder, "plugins"));
  let printed = "";
  async function configure(config: Readonly<Record<string, unknown>>): Promise<void> {
    const whole = { LISTEN_PORT: 0, LOG_FORMAT: "json", ...config };
    await writeFile(join(folder, "flowhook.yaml"), JSON.stringify(whole));
  }
  await configure({});
  return {
    folder,
    configure,
    async fail() {
      const { code, stdout, stderr } = await runCommand(target, ["serve"], { cwd: folder });
      printed += stdout + stderr;
      return code;
    },
    async killOnce(has) {
      const [program, ...leading] = target.command;
      const child = spawn(program, [...leading, "serve"], { cwd: folder, env: environment() });
      let own = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => (own += text));
      const closed = once(child, "close");
      await poll("the moment to kill", async () =>
        has({ pid: child.pid ?? 0, printed: own }) || child.exitCode !== null ? true : null,
      );
      child.kill("SIGKILL");
      await closed;
      printed += own;
    },
    async logIn() {
      const running = await launch(target, folder, ["serve"], environment());
      try {
        // The two streams are read in turn.
        await new Promise((resolve) => setImmediate(resolve));
        const password = [...(printed + running.logs()).matchAll(PASSWORD)].at(-1)?.[1];
        assert.ok(
          password !== undefined,
          `no password was ever shown:\n${printed}${running.logs()}`,
        );
        const answer = await fetch(`${running.url}/api/latest/auth/login`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ user_name: "admin", password }),
        });
        assert.equal(answer.status, 200, await answer.text());
      } finally {
        await terminate(running.child);
        printed += running.logs();
      }
    },
    printed: () => printed,
  };
}

describe("1: the password of the first start", { skip: target.skip ?? false }, () => {
  test("1: after a start whose port was in use", async () => {
    await using stack = new AsyncDisposableStack();
    const starts = await openStarts(stack);
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    stack.defer(() => void other.close());
    await starts.configure({ LISTEN_PORT: (other.address() as AddressInfo).port });
    assert.equal(await starts.fail(), 1);
    assert.match(
      starts.printed(),
      /Cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.* FLOWHOOK_LISTEN_PORT in the environment/,
    );
    await starts.configure({});
    await starts.logIn();
  });

  const errors: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    "a wrong TLS path": { TLS_CERT_FILE: "none.pem", TLS_KEY_FILE: "none.key" },
    "an address that is not here": { LISTEN_HOST: "192.0.2.1" },
    "a host that nobody knows": { LISTEN_HOST: "nowhere.invalid" },
    "a key file that is none": { DATA_DIR: "./spoilt" },
  };
  for (const [name, config] of Object.entries(errors))
    test(`1: after a start with ${name}`, async () => {
      await using stack = new AsyncDisposableStack();
      const starts = await openStarts(stack);
      const data = join(starts.folder, "spoilt");
      await mkdir(data);
      await writeFile(join(data, "secret.key"), "no key\n");
      await starts.configure({ DATA_DIR: "./spoilt", ...config });
      if (!("DATA_DIR" in config)) await rm(join(data, "secret.key"));
      assert.ok([1, 78].includes((await starts.fail()) ?? 0), starts.printed());
      await rm(join(data, "secret.key"), { force: true });
      await starts.configure({ DATA_DIR: "./spoilt" });
      await starts.logIn();
    });

  const moments: Readonly<
    Record<string, (seen: { pid: number; printed: string; folder: string }) => boolean>
  > = {
    "its database was made": ({ folder }) => existsSync(join(folder, "data/flowhook.db-wal")),
    "its runner was started": ({ pid }) => childrenOf(pid).length > 0,
    "the password was shown": ({ printed }) => /password: /.test(printed),
    "it listened": ({ printed }) => printed.includes('"Listening'),
  };
  for (const [name, has] of Object.entries(moments))
    test(`1: after a start that was killed when ${name}`, async () => {
      await using stack = new AsyncDisposableStack();
      const starts = await openStarts(stack);
      await starts.killOnce((seen) => has({ ...seen, folder: starts.folder }));
      await starts.logIn();
    });

  test("1: a file with one that is gone is needed by the first start alone", async () => {
    await using stack = new AsyncDisposableStack();
    const starts = await openStarts(stack);
    const env = { FLOWHOOK_ADMIN_PASSWORD_FILE: join(starts.folder, "gone") };
    const { code, stderr } = await runCommand(target, ["serve"], { cwd: starts.folder, env });
    assert.equal(code, 78, stderr);
    assert.match(stderr, /ADMIN_PASSWORD_FILE: File ".+gone" cannot be read/);
    await starts.logIn();
    const running = await launch(target, starts.folder, ["serve"], environment(env));
    assert.equal(await terminate(running.child), 0, running.logs());
    assert.match(running.logs(), /FLOWHOOK_ADMIN_PASSWORD is not used/);
  });

  test("1: a start that cannot show it makes no user", async () => {
    await using stack = new AsyncDisposableStack();
    const starts = await openStarts(stack);
    const [program, ...leading] = target.command;
    const child = spawn(program, [...leading, "serve"], {
      cwd: starts.folder,
      env: environment(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    const closed = once(child, "close");
    child.stderr.destroy();
    await closed;
    assert.ok((await readdir(join(starts.folder, "data"))).includes("flowhook.db"));
    await starts.logIn();
  });
});
