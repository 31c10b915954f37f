import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { AuditEntry } from "../../src/shared/contract/audit-entry.ts";
import { runCommand, type Finished } from "./command.ts";
import { ADMIN_PASSWORD, launch, startService, terminate, type Service } from "./service.ts";
import { environment, openTarget, ROOT } from "./target.ts";

const target = openTarget();
const skip = target.skip ?? false;

/** A folder with these files, gone after `use`. */
async function inFolder(
  files: Readonly<Record<string, string>>,
  use: (cwd: string) => Promise<void>,
): Promise<void> {
  const cwd = await mkdtemp(join(tmpdir(), "flowhook-cli-"));
  try {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(join(cwd, name, ".."), { recursive: true });
      await writeFile(join(cwd, name), text);
    }
    await use(cwd);
  } finally {
    await rm(cwd, { recursive: true, force: true, maxRetries: 3 });
  }
}

function run(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Finished> {
  return runCommand(target, args, { cwd, env });
}

function all({ stdout, stderr }: Finished): string {
  return `${stdout}\n${stderr}`;
}

interface BadConfig {
  readonly name: string;
  readonly yaml: string;
  readonly env?: Record<string, string>;
  /** Each must be in what is printed. */
  readonly says: readonly RegExp[];
}

const BAD_CONFIGS: readonly BadConfig[] = [
  {
    name: "an unknown key, with the nearest known one",
    yaml: "LOG_LEVEL: info\nLISTEN_PROT: 8080\n",
    says: [/flowhook\.yaml/, /\b2\b/, /LISTEN_PROT/, /LISTEN_PORT/],
  },
  {
    name: "a wrong type",
    yaml: "LISTEN_PORT: many\n",
    says: [/flowhook\.yaml/, /\b1\b/, /LISTEN_PORT/, /many/, /number|integer|0 to 65535/i],
  },
  {
    name: "a value out of range",
    yaml: "# ports\n\nLISTEN_PORT: 70000\n",
    says: [/flowhook\.yaml/, /\b3\b/, /LISTEN_PORT/, /70000/, /65535/],
  },
  {
    name: "a value that is none of the choices",
    yaml: "SYNC_MODE: wait\n",
    says: [/SYNC_MODE/, /wait/, /redirect/, /hold/],
  },
  { name: "no YAML", yaml: "LISTEN_PORT: [1,\n", says: [/flowhook\.yaml/, /line|:\d/] },
  { name: "a list", yaml: "- LISTEN_PORT\n", says: [/flowhook\.yaml/] },
  {
    name: "a key twice",
    yaml: "LISTEN_PORT: 0\nLISTEN_PORT: 1\n",
    says: [/LISTEN_PORT|duplicate/i],
  },
  {
    name: "a wrong value in the environment",
    yaml: "",
    env: { FLOWHOOK_LISTEN_PORT: "many" },
    says: [/FLOWHOOK_LISTEN_PORT/, /many/],
  },
  {
    name: "a value from a file that is not there",
    yaml: "",
    env: {
      FLOWHOOK_ADMIN_PASSWORD_FILE: "/nothing/here",
      FLOWHOOK_LOG_LEVEL_FILE: "/nothing/here",
    },
    says: [/FLOWHOOK_(LOG_LEVEL|ADMIN_PASSWORD)_FILE/, /\/nothing\/here/],
  },
  {
    name: "a first password that nobody could be given later",
    yaml: "LISTEN_PORT: 0\n",
    env: { FLOWHOOK_ADMIN_PASSWORD: "elevenelev1" },
    says: [/FLOWHOOK_ADMIN_PASSWORD: Found a password of 11 characters, expected at least 12/],
  },
];

describe(`bad configuration (${target.name})`, { skip }, () => {
  for (const { name, yaml, env, says } of BAD_CONFIGS) {
    test(`${name}: exit code 78`, () =>
      inFolder({ "flowhook.yaml": yaml }, async (cwd) => {
        const finished = await run(cwd, ["serve"], env);
        assert.equal(finished.code, 78, all(finished));
        for (const pattern of says) assert.match(all(finished), pattern);
        assert.doesNotMatch(all(finished), /^\s+at .*\.ts:\d+/m, "a message, no stack");
      }));
  }

  test("a file that --config names and that is not there", () =>
    inFolder({}, async (cwd) => {
      const finished = await run(cwd, ["serve", "--config", "other.yaml"]);
      assert.equal(finished.code, 78, all(finished));
      assert.match(all(finished), /other\.yaml/);
    }));

  test("an unknown FLOWHOOK_ variable only warns", () =>
    inFolder({}, async (cwd) => {
      const finished = await run(cwd, ["check"], { FLOWHOOK_SERVICE_HOST: "10.0.0.1" });
      assert.equal(finished.code, 0, all(finished));
      assert.match(all(finished), /FLOWHOOK_SERVICE_HOST/);
    }));
});

describe(`commands (${target.name})`, { skip }, () => {
  test("version", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as {
      version: string;
    };
    const finished = await run(tmpdir(), ["version"]);
    assert.equal(finished.code, 0, all(finished));
    assert.ok(finished.stdout.includes(version), finished.stdout);
  });

  for (const args of [["nonsense"], ["serve", "--nonsense"], ["call"], ["user", "nonsense"]]) {
    test(`usage: ${args.join(" ")}`, () =>
      inFolder({}, async (cwd) => {
        const finished = await run(cwd, args);
        assert.equal(finished.code, 2, all(finished));
        assert.notEqual(finished.stderr.trim(), "");
        assert.equal(finished.stdout, "", "a usage error goes to the error stream");
      }));
  }

  test("help", async () => {
    const finished = await run(tmpdir(), ["--help"]);
    assert.equal(finished.code, 0);
    for (const command of ["serve", "check", "call", "user", "version"]) {
      assert.match(finished.stdout, new RegExp(`\\b${command}\\b`));
    }
  });

  test("check: all is well", () =>
    inFolder({ "plugins/fine.ts": "export default async () => ({ ok: true });\n" }, async (cwd) => {
      const finished = await run(cwd, ["check"]);
      assert.equal(finished.code, 0, all(finished));
    }));

  test("check: each fault, exit code 1", () =>
    inFolder(
      {
        "plugins/fine.ts": "export default async () => ({ ok: true });\n",
        "plugins/syntax.ts": "export default async () => {\n",
        "plugins/throws.ts": 'throw new Error("at import");\nexport default () => 1;\n',
        "plugins/number.ts": "export default 5;\n",
      },
      async (cwd) => {
        const finished = await run(cwd, ["check"]);
        assert.equal(finished.code, 1, all(finished));
        for (const name of ["syntax", "throws", "number"]) {
          assert.match(all(finished), new RegExp(name));
        }
        assert.match(all(finished), /at import/);
      },
    ));

  test("check: what keeps flows from being found, exit code 1", () =>
    inFolder(
      {
        "plugins/fine.ts": "export default () => 1;\n",
        "plugins/shop/bundle.yaml": "name: [\n",
        "elsewhere/b.ts": "export default () => 1;\n",
      },
      async (cwd) => {
        await symlink("../elsewhere", join(cwd, "plugins/linked"));
        const finished = await run(cwd, ["check"]);
        assert.equal(finished.code, 1, all(finished));
        assert.match(finished.stderr, /'linked' is a link to a folder outside of PLUGINS_DIR/);
        assert.match(finished.stderr, /Cannot read 'shop\/bundle\.yaml'/);
        const ran = await run(cwd, ["flow", "run", "linked.b"]);
        assert.match(ran.stderr, /There is no flow "linked\.b"[^]*'linked' is a link/);
      },
    ));

  test("check: bad configuration, exit code 78", () =>
    inFolder({ "flowhook.yaml": "NOTHING: 1\n" }, async (cwd) => {
      const finished = await run(cwd, ["check"]);
      assert.equal(finished.code, 78, all(finished));
      assert.match(all(finished), /NOTHING/);
    }));
});

describe(`first start (${target.name})`, { skip }, () => {
  test("a generated password is printed once", () =>
    inFolder({ "flowhook.yaml": "LISTEN_PORT: 0\nLOG_FORMAT: json\n" }, async (cwd) => {
      const first = await launch(target, cwd, ["serve"], environment());
      const code = await terminate(first.child);
      assert.equal(code, 0, "SIGTERM ends with exit code 0");
      assert.match(first.logs(), /password/i);
      const second = await launch(target, cwd, ["serve"], environment());
      await terminate(second.child);
      assert.doesNotMatch(second.logs(), /password/i);
    }));

  test("a port that is taken is an error of the act", async () => {
    const service = await startService();
    try {
      await inFolder({ "flowhook.yaml": `LISTEN_PORT: ${service.origin.port}\n` }, async (cwd) => {
        const finished = await run(cwd, ["serve"]);
        assert.equal(finished.code, 1, all(finished));
        assert.match(all(finished), new RegExp(`${service.origin.port}`));
      });
    } finally {
      await service.stop();
    }
  });
});

describe(`user (${target.name})`, { skip }, () => {
  let service: Service;
  before(async () => {
    service = await startService();
    await service.stop({ keepFiles: true });
  });
  after(async () => {
    await service.stop();
  });

  /** What acts on the service while it runs. */
  async function serving<T>(act: (url: string) => Promise<T>): Promise<T> {
    const env = environment({ FLOWHOOK_ADMIN_PASSWORD: ADMIN_PASSWORD });
    const running = await launch(target, service.directory, ["serve"], env);
    try {
      return await act(`${running.url}/api/latest`);
    } finally {
      await terminate(running.child);
    }
  }

  function logIn(api: string, name: string, password: string): Promise<Response> {
    return fetch(`${api}/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ user_name: name, password }),
    });
  }

  /** @returns reads a path of the API as that user */
  async function openReader(api: string, name: string, password: string) {
    const { token } = (await (await logIn(api, name, password)).json()) as { token: string };
    return (path: string) => fetch(api + path, { headers: { "x-service-token": token } });
  }

  const canLogIn = (name: string, password: string): Promise<boolean> =>
    serving(async (api) => (await logIn(api, name, password)).status === 200);

  test("create, on the data folder of a stopped service", async () => {
    const finished = await runCommand(target, ["user", "create", "ada"], {
      cwd: service.directory,
      input: "a password of ada 1815\n",
    });
    assert.equal(finished.code, 0, all(finished));
    assert.ok(await canLogIn("ada", "a password of ada 1815"));
  });

  test("create: a password that comes slowly is waited for", async () => {
    const finished = await runCommand(target, ["user", "create", "charles"], {
      cwd: service.directory,
      input: "a password ".repeat(100_000),
      inputLater: "of charles\n",
    });
    assert.deepEqual([finished.code, finished.stdout], [0, 'Created the user "charles"\n']);
  });

  test("list, of a stopped service and of one that never ran", async () => {
    const list = (...more: string[]) =>
      runCommand(target, ["user", "list", ...more], { cwd: service.directory });
    const json = await list("--json");
    assert.equal(json.code, 0, all(json));
    const users = JSON.parse(json.stdout) as { name: string; roles: string[] }[];
    const admin = users.find(({ name }) => name === "admin");
    assert.deepEqual(admin?.roles, ["admin"]);
    assert.ok(!all(json).includes("password"));
    assert.match((await list()).stdout, /^NAME +ENABLED +ROLES .*\n(?:.*\n)*admin +yes +admin /);
    const folder = await mkdtemp(join(tmpdir(), "flowhook-nobody-"));
    const empty = await runCommand(target, ["user", "list"], { cwd: folder });
    await rm(folder, { recursive: true });
    assert.equal(empty.code, 1, all(empty));
    assert.match(empty.stderr, /There is no database/);
  });

  test("password, of nobody", async () => {
    const finished = await runCommand(target, ["user", "password", "nobody"], {
      cwd: service.directory,
      input: "a password of ada 1815\n",
    });
    assert.equal(finished.code, 1, all(finished));
    assert.match(finished.stderr, /There is no user "nobody".*flowhook user list/);
  });

  test("create, of a name that is taken", async () => {
    const finished = await runCommand(target, ["user", "create", "admin"], {
      cwd: service.directory,
      input: "a password of ada 1815\n",
    });
    assert.equal(finished.code, 1, all(finished));
    assert.match(all(finished), /admin/);
  });

  test("create, of a name that the API would not take", async () => {
    for (const name of ["", "a/b"]) {
      const finished = await runCommand(target, ["user", "create", name], {
        cwd: service.directory,
      });
      assert.deepEqual([finished.code, finished.stdout], [1, ""], all(finished));
      assert.match(finished.stderr, /^As the name of a user, expected /);
    }
  });

  test("create, with an address that the API would not take", async () => {
    for (const email of ["ada", "a b@example.org", `${"a".repeat(250)}@example.org`]) {
      const args = ["user", "create", "grace", "--email", email];
      const finished = await runCommand(target, args, { cwd: service.directory });
      assert.deepEqual([finished.code, finished.stdout], [1, ""], all(finished));
      assert.match(finished.stderr, /^--email: expected (an e-mail address|at most 254 char).*\n$/);
    }
  });

  test("password, on the data folder of a stopped service", async () => {
    const finished = await runCommand(target, ["user", "password", "admin"], {
      cwd: service.directory,
      input: "another password 1815\n",
    });
    assert.equal(finished.code, 0, all(finished));
    assert.ok(!all(finished).includes("another password 1815"));
    assert.ok(!(await canLogIn("admin", ADMIN_PASSWORD)));
    assert.ok(await canLogIn("admin", "another password 1815"));
  });

  test("delete, also beside a service that runs; never the last admin", async () => {
    const run = (...args: string[]) => runCommand(target, args, { cwd: service.directory });
    const last = await run("user", "delete", "admin");
    assert.equal(last.code, 1, all(last));
    assert.match(
      last.stderr,
      /^Without "admin" there would be no enabled user with the role "admin"\n$/,
    );
    const nobody = await run("user", "delete", "nobody");
    assert.match(nobody.stderr, /^There is no user "nobody".*flowhook user list/);
    await serving(async (api) => {
      const read = await openReader(api, "ada", "a password of ada 1815");
      assert.equal((await read("/auth/me")).status, 200);
      const deleted = await run("user", "delete", "ada");
      assert.deepEqual([deleted.code, deleted.stdout], [0, 'Deleted the user "ada"\n']);
      assert.equal((await read("/auth/me")).status, 401, "its logins have ended");
    });
    assert.doesNotMatch((await run("user", "list")).stdout, /^ada/m);
  });

  test("what these commands did is in the audit", async () => {
    const { items } = await serving(async (api) => {
      const read = await openReader(api, "admin", "another password 1815");
      return (await (await read("/audit?limit=200")).json()) as { items: AuditEntry[] };
    });
    const own = items.filter(({ address }) => address === "command line");
    assert.deepEqual(
      own.map(({ action, target: of, members }) => [action, of, members]),
      [
        ["user.delete", "ada", []],
        ["user.change", "admin", ["password"]],
        ["user.create", "charles", ["name", "email", "password", "roles"]],
        ["user.create", "ada", ["name", "email", "password", "roles"]],
      ],
    );
  });

  test("what was generated is told to scripts as JSON", async () => {
    const run = (...args: string[]) =>
      runCommand(target, ["user", ...args, "--json"], { cwd: service.directory });
    const created = await run("create", "grace", "--role", "webhook", "--role", "viewer");
    assert.equal(created.code, 0, all(created));
    const { password, ...user } = JSON.parse(created.stdout) as Record<string, unknown>;
    const changed = await run("password", "grace");
    const { password: second, ...same } = JSON.parse(changed.stdout) as Record<string, unknown>;
    assert.notEqual(second, password);
    assert.deepEqual({ ...same, modified_at: user["modified_at"] }, user);
    assert.deepEqual(user["roles"], ["viewer", "webhook"]);
    assert.ok(await canLogIn("grace", String(second)));
    const given = await runCommand(target, ["user", "password", "grace", "--json"], {
      cwd: service.directory,
      input: "a password of grace 1906\n",
    });
    assert.ok(!("password" in (JSON.parse(given.stdout) as object)), all(given));
  });

  test("role list, of a stopped service", async () => {
    const options = { cwd: service.directory };
    const json = await runCommand(target, ["role", "list", "--json"], options);
    const roles = JSON.parse(json.stdout) as { name: string; permissions: unknown }[];
    assert.deepEqual(
      roles.map(({ name }) => name),
      ["admin", "developer", "operator", "viewer", "webhook"],
    );
    const table = await runCommand(target, ["role", "list"], options);
    assert.match(table.stdout, /^NAME +PROPAGATES +PERMISSIONS\nadmin +no +\*\n/);
  });
});
