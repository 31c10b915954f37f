import assert from "node:assert/strict";
import { once } from "node:events";
import { chownSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import Database from "better-sqlite3";
import type { Finding } from "../../src/cli/doctor/finding.ts";
import { examineFlows } from "../../src/cli/doctor/sandbox.ts";
import { loadConfig } from "../../src/server/config/load.ts";
import { runCommand } from "../blackbox/command.ts";
import { startService, type Service } from "../blackbox/service.ts";
import { openTarget, ROOT } from "../blackbox/target.ts";
import { makeCertificate } from "../config/certificate-maker.ts";
import { all } from "./session.ts";

const target = openTarget();

async function examine(
  folder: string,
  env: Record<string, string> = {},
): Promise<{ code: number | null; findings: Finding[]; text: string }> {
  const options = { cwd: folder, env, deadlineMs: 60_000 };
  const finished = await runCommand(target, ["doctor", "--json"], options);
  const text = all(finished);
  assert.match(finished.stdout, /^\[/, text);
  return { code: finished.code, findings: JSON.parse(finished.stdout) as Finding[], text };
}

function find(findings: readonly Finding[], subject: string): Finding {
  return findings.find((finding) => finding.subject === subject) ?? assert.fail(subject);
}

/** Names and contents below a folder. */
function contentOf(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return Object.fromEntries(
    files
      // The index of the WAL is shared memory: a reader marks its place in it.
      .filter(({ name }) => !name.endsWith("-shm"))
      .map(({ parentPath, name }) => join(parentPath, name))
      .toSorted()
      .map((path) => [path, readFileSync(path, "base64")]),
  );
}

describe("doctor beside a service", { skip: target.skip ?? false }, () => {
  let service: Service;
  before(async () => {
    service = await startService({ flows: ["echo"] });
    const secret = { name: "token", value: "of a test" };
    assert.equal((await service.api("POST", "/secret", secret)).status, 201);
  });
  after(() => service.stop());

  test("finds nothing wrong, and changes nothing", async () => {
    const kept = contentOf(join(service.directory, "data"));
    const port = String(service.origin.port);
    const { code, findings, text } = await examine(service.directory, {
      FLOWHOOK_LISTEN_PORT: port,
    });
    assert.equal(code, 0, text);
    const states = Object.fromEntries(findings.map(({ subject, state }) => [subject, state]));
    assert.deepEqual(states, {
      configuration: "ok",
      folders: "ok",
      space: states["space"],
      certificate: "skipped",
      service: "ok",
      proxy: "skipped",
      database: "ok",
      key: "ok",
      clock: states["clock"],
      sandbox: "ok",
      flows: "ok",
    });
    assert.match(find(findings, "service").message, new RegExp(`takes calls at .*:${port}$`));
    assert.match(find(findings, "key").message, /\(1\)/);
    assert.deepEqual(contentOf(join(service.directory, "data")), kept);
    await service.assertAlive();
  });

  test("says that the service is elsewhere than the configuration says", async () => {
    const { code, findings } = await examine(service.directory, { FLOWHOOK_LISTEN_PORT: "1" });
    assert.equal(code, 1);
    const { state, message } = find(findings, "service");
    assert.equal(state, "error");
    assert.match(message, /does not answer at http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/);
  });

  test("nobody without the key is told what the service sees", async () => {
    for (const probe of ["", "1.2", `${Date.now()}.AAAA`]) {
      const headers = { "x-flowhook-probe": probe };
      for (const path of ["connection", "configuration"]) {
        const answer = await fetch(`${service.url}/health/${path}`, { headers });
        assert.equal(answer.status, 404);
        assert.doesNotMatch(await answer.text(), /127\.0\.0\.1/);
      }
    }
  });
});

/** A proxy on this machine. @param toTarget what becomes of the request's target */
async function openProxy(toTarget: (target: string) => string, headers: Record<string, string>) {
  let upstream = 0;
  const server = createServer((incoming, outgoing) => {
    const path = toTarget(incoming.url ?? "/");
    const sent = { ...incoming.headers, ...headers };
    const forwarded = request({ host: "127.0.0.1", port: upstream, path, headers: sent });
    forwarded.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.writeHead(502).end());
    incoming.pipe(forwarded);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    lead: (port: number) => void (upstream = port),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Route {
  readonly proxies: readonly string[];
  readonly headers: Record<string, string>;
  readonly toTarget?: (target: string) => string;
  readonly scheme?: string;
  readonly state: "ok" | "error";
  readonly says: RegExp;
  readonly action: RegExp | null;
}

const FORWARDED = { "x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "http" };

const ROUTES: Readonly<Record<string, Route>> = {
  "a proxy that does all": {
    proxies: ["127.0.0.1"],
    headers: FORWARDED,
    state: "ok",
    says: /comes in as http, from 192\.0\.2\.7/,
    action: null,
  },
  "a proxy that nobody named": {
    proxies: ["10.1.2.3"],
    headers: FORWARDED,
    state: "error",
    says: /comes from the proxy 127\.0\.0\.1, which is not in TRUSTED_PROXIES/,
    action: /TRUSTED_PROXIES: \[10\.1\.2\.3, 127\.0\.0\.1\]/,
  },
  "a proxy without X-Forwarded-For": {
    proxies: ["127.0.0.1"],
    headers: {},
    state: "error",
    says: /comes without X-Forwarded-For/,
    action: /Let the proxy send X-Forwarded-For/,
  },
  "a proxy that says https": {
    proxies: ["127.0.0.1"],
    headers: { ...FORWARDED, "x-forwarded-proto": "https" },
    state: "error",
    says: /counts as https/,
    action: /X-Forwarded-Proto/,
  },
  "a proxy that takes the path away": {
    proxies: ["127.0.0.1"],
    headers: FORWARDED,
    toTarget: (path) => path.replace("/in", ""),
    state: "error",
    says: /answered with 404, and not by this service/,
    action: /with the path of BASE_URL before it/,
  },
};

describe("doctor and proxies", { skip: target.skip ?? false }, () => {
  for (const [name, row] of Object.entries(ROUTES))
    test(name, async () => {
      await using proxy = await openProxy(row.toTarget ?? ((path) => path), row.headers);
      const BASE_URL = `http://127.0.0.1:${proxy.port}/in`;
      const config = { BASE_URL, TRUSTED_PROXIES: row.proxies };
      const service = await startService({ prefix: "/in", config });
      try {
        proxy.lead(service.origin.port);
        const { findings } = await examine(service.directory);
        const { state, message, action } = find(findings, "proxy");
        assert.equal(state, row.state, message);
        assert.match(message, row.says);
        if (row.action === null) assert.equal(action, null);
        else assert.match(action ?? "", row.action);
      } finally {
        await service.stop();
      }
    });
});

interface Wrong {
  /** Makes it wrong. @returns variables of the environment */
  spoil(folder: string): Promise<Record<string, string> | void>;
  readonly subject: Finding["subject"];
  readonly says: RegExp;
  readonly action: RegExp;
}

async function writeCertificate(folder: string, wish: object): Promise<Record<string, string>> {
  const made = makeCertificate({ name: "hooks.test", ...wish });
  await writeFile(join(folder, "cert.pem"), made.cert);
  await writeFile(join(folder, "key.pem"), made.key, { mode: 0o600 });
  return {
    FLOWHOOK_TLS_CERT_FILE: join(folder, "cert.pem"),
    FLOWHOOK_TLS_KEY_FILE: join(folder, "key.pem"),
    FLOWHOOK_BASE_URL: "https://hooks.test",
  };
}

function change(folder: string, sql: string): void {
  const db = new Database(join(folder, "data/flowhook.db"));
  db.exec(sql);
  db.close();
}

const WRONG: Readonly<Record<string, Wrong>> = {
  "a damaged database": {
    async spoil(folder) {
      const path = join(folder, "data/flowhook.db");
      const bytes = await readFile(path);
      bytes.fill(0x5a, 8192, 40_000);
      await writeFile(path, bytes);
    },
    subject: "database",
    says: /is damaged/,
    action: /flowhook restore FILE/,
  },
  "a lock of noise": {
    spoil: (folder) => writeFile(join(folder, "data/lock.db"), "noise, ".repeat(1000)),
    subject: "database",
    says: /^Cannot lock the data folder .* Where no service uses it, remove ".*lock\.db"$/,
    action: /^Look again then$/,
  },
  "a ledger of noise": {
    spoil: (folder) => writeFile(join(folder, "data/flowhook.db-ledger-0"), "noise, ".repeat(1000)),
    subject: "database",
    says: /^Cannot read the ledger, ".*-ledger-0" and ".*-ledger-1": file is not a database$/,
    action: /keep both files elsewhere/,
  },
  "a folder in the place of the ledger": {
    async spoil(folder) {
      await rm(join(folder, "data/flowhook.db-ledger-1"), { force: true });
      await mkdir(join(folder, "data/flowhook.db-ledger-1"));
    },
    subject: "database",
    says: /^Cannot read the ledger, ".*-ledger-0" and ".*-ledger-1": /,
    action: /keep both files elsewhere/,
  },
  "a database with a trigger": {
    async spoil(folder) {
      change(folder, "create trigger t after insert on audit begin delete from audit; end");
    },
    subject: "database",
    says: /another schema than Flowhook makes: found the trigger "t"/,
    action: /Restore a backup/,
  },
  "a database of a newer release": {
    async spoil(folder) {
      change(folder, "insert into migration values ('9999-later', 0)");
    },
    subject: "database",
    says: /newer release \(migration "9999-later"/,
    action: /Run that release/,
  },
  "the key of another database": {
    async spoil(folder) {
      await writeFile(join(folder, "data/secret.key"), `${"ab".repeat(32)}\n`);
    },
    subject: "key",
    says: /does not open 1 of 1 secrets: token/,
    action: /Put the secret\.key of this database back/,
  },
  "no key": {
    spoil: (folder) => rm(join(folder, "data/secret.key")),
    subject: "key",
    says: /There is no secret\.key/,
    action: /Put the secret\.key of this database back/,
  },
  "half a key": {
    spoil: (folder) => writeFile(join(folder, "data/secret.key"), "ab"),
    subject: "key",
    says: /expected 64 hexadecimal digits/,
    action: /Put the secret\.key of this database back/,
  },
  "a clock that is behind": {
    async spoil(folder) {
      change(folder, "update execution set created_at = created_at + 864000000");
    },
    subject: "clock",
    says: /which is 10 days before the newest execution/,
    action: /timedatectl set-ntp true/,
  },
  "a broken flow": {
    spoil: (folder) => writeFile(join(folder, "plugins/half.ts"), "export default async () => {"),
    subject: "flows",
    says: /The flow "half" \(half\.ts\) cannot run/,
    action: /flowhook check/,
  },
  "flows that everybody can write": {
    spoil: (folder) => chmod(join(folder, "plugins"), 0o777),
    subject: "folders",
    says: /Every user of this machine can write/,
    action: /chmod -R o-w/,
  },
  "a file in the place of the flows": {
    async spoil(folder) {
      await rm(join(folder, "plugins"), { recursive: true });
      await writeFile(join(folder, "plugins"), "");
    },
    subject: "folders",
    says: /\(PLUGINS_DIR\) is a file, expected a folder/,
    action: /^Set another PLUGINS_DIR/,
  },
  "a certificate that has expired": {
    spoil: (folder) => writeCertificate(folder, { from: -10, until: -1 }),
    subject: "certificate",
    says: /expired at/,
    action: /Renew it/,
  },
  "a certificate of another name": {
    spoil: (folder) => writeCertificate(folder, { name: "other.test" }),
    subject: "certificate",
    says: /BASE_URL names "hooks\.test", and the certificate is for CN=other\.test/,
    action: /Get one for "hooks\.test"/,
  },
  "a key that everybody can read": {
    async spoil(folder) {
      const env = await writeCertificate(folder, {});
      await chmod(join(folder, "key.pem"), 0o644);
      return env;
    },
    subject: "certificate",
    says: /Every user of this machine can read the key/,
    action: /chmod o=/,
  },
  "a proxy that nobody is told of": {
    spoil: async () => ({ FLOWHOOK_BASE_URL: "https://hooks.test" }),
    subject: "proxy",
    says: /TRUSTED_PROXIES is empty: all clients count as one/,
    action: /Put the address of the proxy into TRUSTED_PROXIES/,
  },
};

describe("doctor without a service", { skip: target.skip ?? false }, () => {
  let stopped = "";
  let folder = "";
  before(async () => {
    const service = await startService({ flows: ["echo"] });
    stopped = service.directory;
    await service.api("POST", "/secret", { name: "token", value: "of a test" });
    await service.createWebhook("echo", "echo");
    await fetch(`${service.url}/api/latest/webhook/echo/call`);
    await service.stop({ keepFiles: true });
    folder = await mkdtemp(join(tmpdir(), "flowhook-doctor-test-"));
  });
  after(() => {
    for (const path of [stopped, folder]) rmSync(path, { recursive: true, force: true });
  });

  /** A copy of the service's folder. */
  async function copyAs(name: string): Promise<string> {
    const copy = join(folder, name.replaceAll(" ", "-"));
    await cp(stopped, copy, { recursive: true });
    return copy;
  }

  test("finds nothing wrong, and changes nothing", async () => {
    const kept = contentOf(stopped);
    const { code, findings, text } = await examine(stopped);
    assert.equal(code, 0, text);
    assert.equal(find(findings, "database").state, "ok");
    assert.equal(find(findings, "service").state, "skipped");
    assert.deepEqual(contentOf(stopped), kept);
  });

  test("says of a key that nothing was opened with it, where no database was looked at", async () => {
    const env = { FLOWHOOK_DATABASE_URL: "postgres://me@db.test/hooks" };
    const { findings, text } = await examine(stopped, env);
    const { state, message } = find(findings, "key");
    assert.deepEqual(
      [state, message],
      ["skipped", "Not compared: the database was not looked at"],
      text,
    );
    const local = await examine(stopped);
    assert.match(find(local.findings, "key").message, /opens all secrets of the database \(1\)/);
  });

  for (const [name, { spoil, subject, says, action }] of Object.entries(WRONG))
    test(`${name}: what to do, and exit code 1`, async () => {
      const copy = await copyAs(name);
      const env = (await spoil(copy)) ?? {};
      const kept = contentOf(copy);
      const { code, findings, text } = await examine(copy, env);
      assert.equal(code, 1, text);
      const found = findings.find((one) => one.subject === subject && one.state === "error");
      assert.ok(found !== undefined, text);
      assert.match(found.message, says);
      assert.match(found.action ?? "", action);
      assert.deepEqual(contentOf(copy), kept);
    });

  // What runs the source needs such a folder itself.
  const isSource = target.name === "source";
  test("no folder for temporary files: a finding of each part", { skip: isSource }, async () => {
    const { code, findings, text } = await examine(stopped, {
      TMPDIR: join(stopped, "flowhook.yaml"),
    });
    assert.equal(code, 1, text);
    for (const subject of ["database", "sandbox", "flows"]) {
      const { state, message, action } = find(findings, subject);
      assert.equal(state, "error", text);
      assert.match(message, /^Cannot be looked at: ENOTDIR/);
      assert.match(action ?? "", /^Look at ".*flowhook\.yaml", .* TMPDIR$/);
    }
    assert.equal(find(findings, "folders").state, "ok", text);
  });

  test("in lines for people, with what to do below each", async () => {
    const copy = await copyAs("lines");
    await writeFile(join(copy, "plugins/half.ts"), "export default async () => {");
    const finished = await runCommand(target, ["doctor"], { cwd: copy, deadlineMs: 60_000 });
    assert.match(finished.stdout, /^error {4}flows {10}The flow "half".*\n {24}flowhook check/m);
    assert.equal(finished.stderr, "1 thing is wrong\n");
  });

  const isRoot = process.getuid?.() === 0;
  test("root looks as the owner of the data does", { skip: !isRoot }, async () => {
    const copy = await copyAs("owner");
    const files = readdirSync(join(copy, "data"), { recursive: true, encoding: "utf8" });
    for (const path of ["", ...files]) chownSync(join(copy, "data", path), 12_345, 12_345);
    chownSync(join(copy, "data/secret.key"), 0, 0);
    for (const path of [folder, copy]) await chmod(path, 0o755);
    const { findings, text } = await examine(copy);
    assert.match(text, /Looked at as user 12345/);
    assert.match(find(findings, "folders").message, /secret\.key" belongs to root/);
    assert.equal(find(findings, "sandbox").state, "ok", text);
    assert.equal(statSync(join(copy, "data/lock.db")).uid, 12_345);
  });

  test("root looks at data that only a unit opens for its user", { skip: !isRoot }, async () => {
    const copy = await copyAs("unit");
    const closed = join(copy, "private");
    await mkdir(closed, { mode: 0o700 });
    await rename(join(copy, "data"), join(closed, "data"));
    await symlink("private/data", join(copy, "data"));
    const files = readdirSync(join(closed, "data"), { recursive: true, encoding: "utf8" });
    for (const path of ["", ...files]) chownSync(join(closed, "data", path), 12_345, 12_345);
    for (const path of [folder, copy]) await chmod(path, 0o755);
    const { code, findings, text } = await examine(copy);
    assert.equal(code, 0, text);
    assert.match(find(findings, "folders").message, /private", which only its unit opens/);
    assert.equal(find(findings, "database").state, "ok", text);
    assert.match(text, /Looked at as user 12345/);
    assert.equal(find(findings, "flows").state, "ok", text);
    const after = readdirSync(join(closed, "data"), { recursive: true, encoding: "utf8" });
    assert.deepEqual(after.sort(), files.sort(), "it leaves nothing there");
  });
});

test("flows that cannot be loaded at all are a finding beside the others", async () => {
  const { config } = loadConfig({ env: {}, cwd: tmpdir() });
  const [finding] = await examineFlows(config, "/dev/null/nothing");
  assert.deepEqual([finding?.subject, finding?.state], ["flows", "error"]);
  assert.match(finding?.message ?? "", /^They cannot be loaded: E/);
});

test("a node without flows of its own may serve those of others", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "flowhook-doctor-node-"));
  const scratch = join(cwd, "scratch");
  const judge = async (env: Record<string, string>) => {
    const [finding] = await examineFlows(loadConfig({ env, cwd }).config, scratch);
    assert.equal(finding?.action, "Write one: flowhook flow new NAME");
    return `${finding.state} ${finding.message}`;
  };
  try {
    await mkdir(join(cwd, "plugins"));
    await mkdir(scratch);
    const env = { FLOWHOOK_DATABASE_URL: "postgres://127.0.0.1/flowhook" };
    const others =
      /^skipped There are no flows .*: those of other nodes serve here, where there are any$/;
    assert.match(await judge(env), others);
    assert.match(await judge({ ...env, FLOWHOOK_FLOWS_SHARED: "false" }), /^warning .*plugins"$/);
    assert.match(await judge({}), /^warning There are no flows in ".*plugins"$/);
  } finally {
    await rm(cwd, { recursive: true, maxRetries: 5 });
  }
});

test("outside of the sandbox its flow can do everything that must fail in it", async () => {
  // Not by a name that the compiler would look for: the file has no types.
  const path = join(ROOT, "src/assets/files/doctor-flow.mjs");
  const { default: act } = (await import(path)) as {
    default: (given: object) => Promise<{ done: string[]; refused: string[] }>;
  };
  const folder = await mkdtemp(join(tmpdir(), "flowhook-doctor-flow-"));
  const server = createServer((_, outgoing) => outgoing.end());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const readable = import.meta.filename;
    const json = { readable, folder, program: process.execPath, port };
    const { done, refused } = await act({ input_value: { json } });
    assert.deepEqual([done.length, refused], [5, []]);
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  }
});
